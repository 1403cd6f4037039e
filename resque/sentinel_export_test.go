package resque

import "context"

// AdoptForTest notes a connection to a master that was named when so many changes
// were known.
func (c *Client) AdoptForTest(t TestConn, address string, since uint64) bool {
	return c.sentinels.adopt(t.k, address, since)
}

// SwitchForTest is what a message about a new master does.
func (c *Client) SwitchForTest(address string) {
	c.sentinels.moveTo(address, c.sentinels.seen())
}

// ChangesForTest is how many changes are known, and the master.
func (c *Client) ChangesForTest() (changes uint64, master string) {
	return c.sentinels.seen(), c.sentinels.master
}

// DialToForTest connects to an address without being noted.
func (c *Client) DialToForTest(ctx context.Context, address string) (TestConn, error) {
	k, err := c.dialTo(ctx, c.target.at(address))
	return TestConn{k}, err
}
