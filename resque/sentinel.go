package resque

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNoMaster says that no Sentinel knew a master that is one. It passes with a
// failover; the error around it tells what each Sentinel answered.
var ErrNoMaster = errors.New("resque: the Sentinels name no master")

// sentinels are the Sentinels that watch a Redis. They are asked for its master at
// each dial, and tell of a new one: then all connections to the old one end, so
// that nobody goes on writing to a Redis that is master only for itself.
type sentinels struct {
	client *Client
	login  target // of the Sentinels, without an address
	name   string // of the master

	ctx    context.Context //nolint:containedctx // ends the following
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu        sync.Mutex
	addresses []string // the last one that answered is the first
	master    string   // the last one known
	changes   uint64   // how often there was another
	masters   map[*conn]string
	following bool
}

// sentinelPatience is how long one Sentinel may take before another is asked.
const sentinelPatience = time.Second

// newSentinels are those of a URL; nil where it names none.
func newSentinels(c *Client) *sentinels {
	t := c.target
	if t.master == "" {
		return nil
	}
	o := c.options
	s := &sentinels{
		client: c, name: t.master, addresses: slices.Clone(t.sentinels), masters: map[*conn]string{},
		login: target{
			network: "tcp", tls: t.tls && !o.SentinelPlain,
			user: o.SentinelUser, password: o.SentinelPassword, login: o.SentinelPassword != "" || o.SentinelUser != "",
		},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// dial connects to the master.
func (s *sentinels) dial(ctx context.Context) (*conn, error) {
	since := s.seen()
	address, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	k, err := s.client.dialTo(ctx, s.client.target.at(address))
	if err != nil {
		return nil, err
	}
	// After a failover a Sentinel may name the old master for a while.
	role, err := Values(k.do(ctx, "ROLE"))
	if err == nil && len(role) > 0 && text(role[0]) != "master" {
		err = fmt.Errorf("%w: %s is said to be it, and is a %s", ErrNoMaster, address, text(role[0]))
	}
	if err != nil && ErrorCode(err) != "NOPERM" {
		return nil, errors.Join(err, k.close())
	}
	if !s.adopt(k, address, since) {
		return nil, errors.Join(fmt.Errorf("%w: %s was it, and another is since", ErrNoMaster, address), k.close())
	}
	return k, nil
}

// find asks the Sentinels, one after the other, for the address of the master.
func (s *sentinels) find(ctx context.Context) (address string, err error) {
	s.mu.Lock()
	addresses := slices.Clone(s.addresses)
	s.mu.Unlock()
	var faults []error
	for _, sentinel := range addresses {
		address, others, err := s.ask(ctx, sentinel)
		if err == nil {
			s.learn(sentinel, others)
			return address, nil
		}
		faults = append(faults, fmt.Errorf("%s: %w", sentinel, err))
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("%w: %w", ErrNoMaster, errors.Join(faults...))
}

// ask asks one Sentinel for the master and for its like.
func (s *sentinels) ask(ctx context.Context, sentinel string) (master string, others []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sentinelPatience, errSentinelTimeout)
	defer cancel()
	k, err := s.client.dialTo(ctx, s.login.at(sentinel))
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = k.close() }() // it has answered
	replies, err := k.pipeline(ctx, []Call{
		{Command: "SENTINEL", Args: []any{"GET-MASTER-ADDR-BY-NAME", s.name}},
		{Command: "SENTINEL", Args: []any{"SENTINELS", s.name}},
	})
	if err != nil {
		return "", nil, err
	}
	if refused, ok := replies[0].(error); ok {
		return "", nil, refused
	}
	row, _ := replies[0].([]any)
	if len(row) != 2 { //nolint:mnd // host and port
		return "", nil, fmt.Errorf("it watches no master called %q: the name stands behind ?master=, and in the Sentinel's line sentinel monitor", s.name)
	}
	return net.JoinHostPort(text(row[0]), text(row[1])), otherSentinels(replies[1]), nil
}

var errSentinelTimeout = fmt.Errorf("it took longer than %v: %w", sentinelPatience, context.DeadlineExceeded)

// otherSentinels reads the answer to SENTINEL SENTINELS: names and values, for each
// of them.
func otherSentinels(reply any) (addresses []string) {
	list, _ := reply.([]any)
	for _, one := range list {
		pairs, _ := one.([]any)
		fields := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			fields[text(pairs[i])] = text(pairs[i+1])
		}
		if fields["ip"] != "" && fields["port"] != "" {
			addresses = append(addresses, net.JoinHostPort(fields["ip"], fields["port"]))
		}
	}
	return addresses
}

// learn puts the Sentinel that answered first, and those it knows behind the
// others.
func (s *sentinels) learn(answered string, others []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []string{answered}
	for _, address := range append(s.addresses, others...) {
		if !slices.Contains(list, address) {
			list = append(list, address)
		}
	}
	s.addresses = list
}

// seen is how many changes of the master are known, for who asks for it to tell
// whether the answer is older than they are.
func (s *sentinels) seen() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// adopt notes a connection to a master that was named when so many changes were
// known, and begins to follow the Sentinels. Not ok: there was another since.
func (s *sentinels) adopt(k *conn, address string, since uint64) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settle(address, since) {
		return false
	}
	k.closing = s.forget
	s.masters[k] = address
	if !s.following && s.ctx.Err() == nil {
		s.following = true
		s.ended.Go(s.follow)
	}
	return true
}

func (s *sentinels) forget(k *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.masters, k)
}

// moveTo notes the master that was named when so many changes were known.
func (s *sentinels) moveTo(address string, since uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(address, since)
}

// settle is moveTo for who holds mu. It ends the connections to every other
// address, but for an answer that is older than a change.
func (s *sentinels) settle(address string, since uint64) (ok bool) {
	switch {
	case address == s.master:
		return true
	case since != s.changes:
		return false
	}
	old := s.master
	s.master = address
	s.changes++
	if old == "" {
		return true
	}
	s.client.options.Logger.Warn("Redis has a new master", "name", s.name, "old", old, "new", address)
	for k, at := range s.masters {
		if at != address {
			k.abandon()
		}
	}
	return true
}

// follow hears from a Sentinel when there is a new master, until close.
func (s *sentinels) follow() {
	for failed := 1; ; failed++ {
		if s.listen() {
			failed = 1
		}
		timer := time.NewTimer(backoff{}.next(failed))
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// listen subscribes at a Sentinel and takes in what it tells, until the connection
// ends. heard says that it was subscribed.
func (s *sentinels) listen() (heard bool) {
	k, err := s.subscribe()
	if err != nil {
		return false
	}
	over := make(chan struct{})
	stop := context.AfterFunc(s.ctx, k.abandon)
	s.ended.Go(func() { keepAlive(k, over) })
	defer func() {
		stop()
		close(over)
		_ = k.close() // it ended
	}()
	// What happened before the subscription isn't told.
	since := s.seen()
	if address, err := s.find(s.ctx); err == nil {
		s.moveTo(address, since)
	}
	for {
		message, err := k.receive(alive + alive/2) //nolint:mnd // half a ping more
		if err != nil {
			return true
		}
		if address, ok := s.switched(message); ok {
			s.moveTo(address, s.seen())
		}
	}
}

const switchMaster = "+switch-master"

func (s *sentinels) subscribe() (*conn, error) {
	s.mu.Lock()
	addresses := slices.Clone(s.addresses)
	s.mu.Unlock()
	var faults []error
	for _, address := range addresses {
		ctx, cancel := context.WithTimeoutCause(s.ctx, sentinelPatience, errSentinelTimeout)
		k, err := s.client.dialTo(ctx, s.login.at(address))
		cancel()
		if err == nil {
			if err = k.send("SUBSCRIBE", switchMaster); err == nil {
				_, err = k.receive(sentinelPatience) // from the answer on it is told
			}
			if err == nil {
				return k, nil
			}
			_ = k.close() // the error that matters is err
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// switched reads "<name> <old ip> <old port> <new ip> <new port>".
func (s *sentinels) switched(message any) (address string, ok bool) {
	row, _ := message.([]any)
	const words = 5
	if len(row) != 3 || text(row[0]) != "message" || text(row[1]) != switchMaster {
		return "", false // the answer to SUBSCRIBE or PING
	}
	fields := strings.Fields(text(row[2]))
	if len(fields) != words || fields[0] != s.name {
		return "", false
	}
	return net.JoinHostPort(fields[3], fields[4]), true
}

// close ends the following; the connections are their users' to close.
func (s *sentinels) close() {
	if s == nil {
		return
	}
	s.mu.Lock() // so that adopt begins nothing any more
	s.cancel()
	s.mu.Unlock()
	s.ended.Wait()
}
