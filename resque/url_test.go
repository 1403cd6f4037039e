package resque_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/understudy/resque"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://localhost:6379":                       `tcp localhost:6379 "" "" 0 false`,
		"redis://":                                     `tcp localhost:6379 "" "" 0 false`,
		"redis://:7000/":                               `tcp localhost:7000 "" "" 0 false`,
		"redis://cache/3":                              `tcp cache:6379 "" "" 3 false`,
		"redis://[::1]:7000":                           `tcp [::1]:7000 "" "" 0 false`,
		"redis://[::1]":                                `tcp [::1]:6379 "" "" 0 false`,
		"redis://app:p%40ss%2F%3A@cache:1/3":           `tcp cache:1 "app" "p@ss/:" 3 false`,
		"redis://:secret@cache":                        `tcp cache:6379 "" "secret" 0 false`,
		"redis://app:@cache":                           `tcp cache:6379 "app" "" 0 false`,
		"rediss://cache":                               `tcp cache:6379 "" "" 0 true`,
		"valkey://cache":                               `tcp cache:6379 "" "" 0 false`,
		"valkeys://cache":                              `tcp cache:6379 "" "" 0 true`,
		"redis-sentinel://a?master=m":                  `tcp a:26379 "" "" 0 false`,
		"redis-sentinel://a,b:1,[::1]/2?master=m":      `tcp a:26379,b:1,[::1]:26379 "" "" 2 false`,
		"rediss-sentinel://u:p%40@a:1,b/2?master=m%2F": `tcp a:1,b:26379 "u" "p@" 2 true`,
		"unix:///run/r.sock":                           `unix /run/r.sock "" "" 0 false`,
		"unix:///run/r.sock?db=2":                      `unix /run/r.sock "" "" 2 false`,
		"unix://app:x%3Fy@/run/r.sock?db=2":            `unix /run/r.sock "app" "x?y" 2 false`,
	} {
		network, address, user, password, db, tls, err := resque.URLForTest(url)
		if got := fmt.Sprintf("%s %s %q %q %d %t", network, address, user, password, db, tls); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", url, got, err, want)
		}
	}
}

func TestURLRefused(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                                        "redis://user:password@host:6379/0",
		"localhost:6379":                          "redis://user:password@host:6379/0",
		"http://localhost":                        "unknown scheme http://",
		"redis://localhost/one":                   `database "one"`,
		"redis://localhost/-1":                    `database "-1"`,
		"redis://localhost/1/2":                   `database "1/2"`,
		"redis://localhost?db=1":                  "redis://host:6379/2",
		"unix://run/r.sock":                       "three slashes",
		"unix://":                                 "three slashes",
		"unix:///":                                "three slashes",
		"unix:///r.sock?db=x":                     `database "x"`,
		"unix:///r.sock?database=1":               `unknown setting "database"`,
		"redis-sentinel://a,b":                    "doesn't name the master",
		"redis-sentinel://a,?master=m":            "a Sentinel without a host",
		"redis-sentinel://?master=m":              "a Sentinel without a host",
		"redis-sentinel://a?name=m":               `unknown setting "name"`,
		"redis-sentinel://a/x?master=m":           `database "x"`,
		"redis-sentinel://:SEC,RET/X@a?master=m":  "%40",
		"redis-sentinel://:SECRET@a,b:x?master=m": "a Sentinel without a host",
		"redis://SECRET@cache":                    ":password@",
		"redis://:SEC#RET@cache":                  "%40",
		"redis://:SEC/RET@cache":                  "%40",
		"redis://:12/SECRET@cache":                "%40",
		"redis://:12?SECRET@cache":                "%40",
		"redis://u:12?SECRET=x@cache":             "%40",
		"redis://:12#SECRET@cache":                "%40",
		"redis://:SEC@RET%@cache":                 "%40",
		"redis://:SEC%RET@cache":                  "%40",
		"redis://:SECRET@cache:port":              "%40",
		"SECRET://x@y":                            "",
		":SECRET@cache:6379":                      "%40",
		"SECRET@cache:6379":                       "%40",
		"app:SECRET@cache:6379":                   "%40",
		"redis:app:SECRET@cache":                  "%40",
		"redis://:SECRET@cache\x7f":               "%40",
	} {
		_, _, _, _, _, _, err := resque.URLForTest(url)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, which doesn't say %q", url, err, says)
			continue
		}
		if strings.Contains(err.Error(), "SEC") || strings.Contains(err.Error(), "RET") {
			t.Errorf("%q: the password is in %q", url, err)
		}
	}
}
