package resque

import (
	"slices"
	"strconv"
	"strings"

	"example.com/understudy/compat/ruby"
)

// QueueList says which queues a worker works and in which order: names,
// patterns as File.fnmatch? reads them (mail_*), what to leave out (!slow,
// !batch_*), and weights (high=2, low=1).
type QueueList struct {
	items   []queueItem
	skips   []string
	dynamic bool
	weights int // their sum; 0: strict order
}

type queueItem struct {
	name   string // or a pattern
	weight int
}

// queuesHelp ends every refusal of a queue list.
const queuesHelp = `name at least one queue, such as "high,low", or "*" for all of them`

// ParseQueueList reads a worker's queue list. Each text may itself hold several
// queues with commas between them; blanks around a name and empty names are
// dropped. A list of nothing but !names works every other queue (Ruby refuses
// it).
func ParseQueueList(texts ...string) (QueueList, error) {
	var p listParser
	for _, text := range texts {
		for name := range strings.SplitSeq(text, ",") {
			if err := p.add(strings.TrimSpace(name)); err != nil {
				return QueueList{}, err
			}
		}
	}
	return p.list()
}

type listParser struct {
	items    []queueItem
	skips    []string
	weighted bool
}

func (p *listParser) add(text string) error {
	if text == "" {
		return nil
	}
	if skip, ok := strings.CutPrefix(text, "!"); ok {
		if skip == "" {
			return configError("Queues", `holds a lone "!": write the queue to leave out behind it, such as "*,!slow"`)
		}
		p.skips = append(p.skips, skip)
		return nil
	}
	name, weight, has, err := cutWeight(text)
	if err != nil {
		return err
	}
	p.items = append(p.items, queueItem{name: name, weight: weight})
	p.weighted = p.weighted || has
	return nil
}

func (p *listParser) list() (QueueList, error) {
	l := QueueList{items: p.items, skips: p.skips, dynamic: len(p.skips) > 0}
	switch {
	case len(l.items) == 0 && len(l.skips) == 0:
		return l, configError("Queues", "is empty: "+queuesHelp)
	case len(l.items) == 0:
		l.items = []queueItem{{name: "*", weight: 1}}
	}
	for _, item := range l.items {
		l.dynamic = l.dynamic || ruby.IsPattern(item.name)
		if p.weighted {
			l.weights += item.weight
		}
	}
	return l, nil
}

// maxWeight keeps sums of weights far from overflow.
const maxWeight = 1_000_000

// cutWeight takes goworker's form apart: name=2. What isn't a whole number
// behind the last "=" belongs to the name.
func cutWeight(text string) (name string, weight int, has bool, err error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 || i == len(text)-1 || strings.Trim(text[i+1:], "0123456789") != "" {
		return text, 1, false, nil
	}
	name = strings.TrimSpace(text[:i])
	weight, err = strconv.Atoi(text[i+1:])
	switch {
	case name == "":
		return "", 0, false, configError("Queues", "holds "+strconv.Quote(text)+": write the queue before its weight, such as high=2")
	case err != nil || weight < 1 || weight > maxWeight:
		return "", 0, false, configError("Queues", "holds "+strconv.Quote(text)+
			": a weight is a number from 1 to "+strconv.Itoa(maxWeight)+"; write !"+name+" to leave the queue out")
	}
	return name, weight, true, nil
}

// Dynamic tells whether Expand depends on the queues there are: the list holds
// a pattern or leaves something out.
func (l QueueList) Dynamic() bool { return l.dynamic }

// Weighted tells whether the order is drawn by weight.
func (l QueueList) Weighted() bool { return l.weights > 0 }

// IDText is the last part of a worker's id: names and patterns, without what is
// left out and without weights. It is never empty.
func (l QueueList) IDText() string {
	names := make([]string, 0, len(l.items))
	for _, item := range l.items {
		names = append(names, item.name)
	}
	if len(names) == 0 {
		return "*"
	}
	return strings.Join(names, ",")
}

// Expand lists the queues to work, first the most urgent. all are the names in
// the set queues; a list that isn't Dynamic needs none.
func (l QueueList) Expand(all []string) []string {
	return l.expand(l.items, all)
}

// Order is Expand with the items of a Weighted list in an order drawn by their
// weights: among those not yet drawn, an item of weight 2 comes next twice as
// often as one of weight 1. A pattern's queues stay together, in byte order.
// random gives numbers from [0, 1).
func (l QueueList) Order(all []string, random func() float64) []string {
	if !l.Weighted() {
		return l.Expand(all)
	}
	items, left := slices.Clone(l.items), l.weights
	for drawn := range items {
		next := drawn + pick(items[drawn:], random()*float64(left))
		left -= items[next].weight
		items[drawn], items[next] = items[next], items[drawn]
	}
	return l.expand(items, all)
}

// pick finds the item within whose weight the point lies.
func pick(items []queueItem, point float64) int {
	for i := range items {
		point -= float64(items[i].weight)
		if point < 0 {
			return i
		}
	}
	return len(items) - 1
}

func (l QueueList) expand(items []queueItem, all []string) []string {
	var queues []string
	seen := make(map[string]bool, len(items))
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			queues = append(queues, name)
		}
	}
	if !l.dynamic {
		for _, item := range items {
			add(item.name)
		}
		return queues
	}
	known := slices.DeleteFunc(slices.Clone(all), l.skipped)
	slices.Sort(known)
	for _, item := range items {
		for _, name := range known {
			if ruby.Fnmatch(item.name, name) {
				add(name)
			}
		}
	}
	return queues
}

func (l QueueList) skipped(name string) bool {
	return slices.ContainsFunc(l.skips, func(pattern string) bool { return ruby.Fnmatch(pattern, name) })
}
