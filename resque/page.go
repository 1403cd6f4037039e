package resque

import (
	"context"
	"fmt"
)

const (
	// pageSize is how much of a list one call reads.
	pageSize = 1000
	// pageBytes bounds it where elements are large.
	pageBytes = 2 << 20
)

// pageLua reads pieces of lists.
//
//	KEYS the lists
//	ARGV 1 index of the first element, in the first list; a negative one counts
//	     from the end, and then the elements are those up to it, 2 elements at
//	     most, 3 bytes at most, both of all lists together
//
// It answers for each list, until there is no room: whether it was read to its end,
// the index of the first element, and the elements; or {-1} for what is no list.
// One element is read whatever its bytes. The elements are taken one by one: an
// answer of several large ones takes Redis many times longer.
const pageLua = `
local from, left, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local none = true
local function read(key, index, step)
  local out = {}
  while left > 0 and index >= 0 do
    local element = redis.call('LINDEX', key, index)
    if not element then return out, true end
    if #element > room and not none then
      left = 0
      return out, false
    end
    none, left, room, index = false, left - 1, room - #element, index + step
    out[#out + 1] = element
    if room <= 0 then left = 0 end
  end
  return out, index < 0
end
local answer = {}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  if kind == 'list' or kind == 'none' then
    if from < 0 then
      local index = redis.call('LLEN', key) + from
      local elements, ended = read(key, index, -1)
      local turned = {}
      for j = #elements, 1, -1 do turned[#turned + 1] = elements[j] end
      answer[i] = {ended and 1 or 0, math.max(index - #elements + 1, 0), turned}
    else
      local elements, ended = read(key, from, 1)
      if not ended then ended = redis.call('LLEN', key) <= from + #elements end
      answer[i] = {ended and 1 or 0, from, elements}
    end
  else
    answer[i] = {-1}
  end
  from = math.min(from, 0)
  if left <= 0 then break end
end
return answer
`

// page is a piece of a list.
type page struct {
	// list says that it was one, ended that no elements follow in the direction of
	// the reading.
	list, ended bool
	first       int64 // the index of the first element
	elements    [][]byte
}

// pages reads up to count elements, of some megabytes at most, of several lists,
// in the first one from an index on; a negative one counts from the end, and the
// elements up to it are read. It answers as many lists as it got to. Keys are
// without namespace.
func (c *Client) pages(ctx context.Context, from, count int64, keys ...string) ([]page, error) {
	full := make([]string, len(keys))
	for i, key := range keys {
		full[i] = c.keys.Of(key)
	}
	reply, err := Values(c.Run(ctx, c.pageScript, full, from, count, pageBytes))
	if err != nil {
		return nil, err
	}
	pages := make([]page, len(reply))
	for i, value := range reply {
		fields, err := Values(value, nil)
		if err != nil || len(fields) != 1 && len(fields) != 3 {
			return nil, protocolError("page", fmt.Sprint(value))
		}
		if len(fields) == 1 {
			continue
		}
		elements, err := Values(fields[2], nil)
		if err != nil {
			return nil, err
		}
		pages[i] = page{list: true, ended: number(fields[0]) == 1, first: number(fields[1]), elements: make([][]byte, len(elements))}
		for j, element := range elements {
			pages[i].elements[j] = blob(element)
		}
	}
	return pages, nil
}

// page is pages of one list.
func (c *Client) page(ctx context.Context, from, count int64, key string) (page, error) {
	pages, err := c.pages(ctx, from, count, key)
	if err != nil {
		return page{}, err
	}
	if len(pages) != 1 {
		return page{}, protocolError("page", pages)
	}
	return pages[0], nil
}
