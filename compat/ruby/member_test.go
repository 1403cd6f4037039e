package ruby_test

import (
	"testing"

	"example.com/understudy/compat/ruby"
)

func TestSetMember(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, object, want string }{
		{"at the end", `{"b":1.10,"a":"\u00fc<"}`, `{"b":1.10,"a":"\u00fc<","k":"v"}`},
		{"into nothing", `{}`, `{"k":"v"}`},
		{"into nothing, with blanks", " { /* none */ } ", ` {"k":"v" /* none */ } `},
		{"blanks and comments stay", "{ \"a\" : [ 1 ] // c\n} ", "{ \"a\" : [ 1 ],\"k\":\"v\" // c\n} "},
		{"in its place", `{"k":"old","a":1}`, `{"k":"v","a":1}`},
		{"in the place of anything", `{"a":1,"k" : {"k":[2]} ,"b":1}`, `{"a":1,"k" : "v" ,"b":1}`},
		{"by another spelling of the key", `{"\u006b":null}`, `{"\u006b":"v"}`},
		{"each time", `{"k":1,"a":2,"k":3}`, `{"k":"v","a":2,"k":"v"}`},
		{"not further inside", `{"a":{"k":1}}`, `{"a":{"k":1},"k":"v"}`},
		{"bytes that are no UTF-8", "{\"a\":\"\xff\"}", "{\"a\":\"\xff\",\"k\":\"v\"}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ruby.SetMember([]byte(test.object), "k", []byte(`"v"`))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
	for _, refused := range []string{``, `null`, `[]`, `{"a":1`, `{"a":1}x`, `{"a"}`, `"x"`} {
		if got, err := ruby.SetMember([]byte(refused), "k", []byte(`1`)); err == nil {
			t.Errorf("%s was taken: %s", refused, got)
		}
	}
}
