package jobsfile_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/understudy/internal/jobsfile"
)

// posted is a file in which line 3 is free; more follows it.
func posted(lines string) []byte { return []byte("jobs:\n  A:\n    " + lines + "\n") }

func TestParseAddress(t *testing.T) {
	t.Parallel()
	tests := []struct{ lines, want string }{
		{"http: https://sms.internal/deliver", "https://sms.internal/deliver []"},
		{"http: HTTP://sms.internal:8080", "http://sms.internal:8080 []"},
		{"http: http://[::1]:80/a%20b?c=d&e", "http://[::1]:80/a%20b?c=d&e []"},
		{"http: https://user:pw@sms.internal:/", "https://user:pw@sms.internal/ []"},
		{"http: {url: 'https://a/'}", "https://a/ []"},
		{"http: {url: https://a/, headers: {}}", "https://a/ []"},
		{
			"http:\n      headers: {authorization: 'Bearer ${SMS_TOKEN}', X-VERSION: 1.10, x_y: '$5 $$ {a}', Empty: ''}\n      url: https://a/",
			"https://a/ [Authorization=Bearer ${SMS_TOKEN} X-Version=1.10 X_y=$5 $$ {a} Empty=]",
		},
		{"http: &here {url: https://a/, headers: &h {A: b}}\n  B:\n    http: {<<: *here, headers: {<<: *h, C: d}}", "https://a/ [A=b]"},
	}
	for _, tt := range tests {
		t.Run(tt.lines, func(t *testing.T) {
			t.Parallel()
			file, err := jobsfile.Parse("jobs.yml", posted(tt.lines))
			if err != nil {
				t.Fatal(err)
			}
			if got := addressText(file.Jobs[0].HTTP); got != tt.want || file.Jobs[0].Exec != nil {
				t.Errorf("got %s and %v, want %s", got, file.Jobs[0].Exec, tt.want)
			}
		})
	}
}

func addressText(a *jobsfile.Address) string {
	if a == nil {
		return "none"
	}
	headers := make([]string, 0, len(a.Headers))
	for _, h := range a.Headers {
		headers = append(headers, h.Name+"="+h.Value)
	}
	return fmt.Sprint(a.URL, " ", headers)
}

// refusedAddress is an address that isn't taken.
type refusedAddress struct{ lines, says string }

func refusedAddresses() []refusedAddress {
	const example = "write one such as https://sms.internal/deliver"
	header := func(line string) string { return "http:\n      url: https://a\n      headers:\n        " + line }
	return []refusedAddress{
		{"http:", "3: A: http is empty: write an address, such as http: https://sms.internal/deliver, or with headers http: {url: "},
		{"http: [https://a]", "3: A: http is a list: write an address"},
		{"http: ''", "3: A: http doesn't begin with http:// or https://: " + example},
		{"http: sms.internal/deliver", "3: A: http doesn't begin with http:// or https://: " + example},
		{"http: localhost:8080", "3: A: http doesn't begin with"},
		{"http: /deliver", "3: A: http doesn't begin with"},
		{"http: ftp://sms.internal/", "3: A: http has the scheme ftp: jobs are posted by http and https, so " + example},
		{"http: ://sms.internal/", "3: A: http is no address: " + example},
		{"http: 'https://a/ b'", "3: A: http is no address: " + example},
		{"http: https://a:pw/", "3: A: http is no address: " + example},
		{"http: https://a/%zz", "3: A: http is no address: " + example},
		{"http: https:///deliver", "3: A: http has no host: " + example},
		{"http: https://user@:80/", "3: A: http has no host: " + example},
		{"http: https://a:0/", "3: A: http has the port 0: write one from 1 to 65535"},
		{"http: https://a:65536/", "3: A: http has the port 65536: write"},
		{"http: https://a/#b", "3: A: http has a fragment, which is never sent: leave out # and what follows"},
		{"http: https://a/#", "3: A: http has a fragment"},
		{"http: 'https://${HOST}/'", "3: A: http holds a variable, which only headers can: write the address itself, and secrets into headers: "},

		{"http: {}", "3: A: http has no url: write an address, such as http: https://"},
		{"http:\n      headers: {}", "3: A: http has no url"},
		{"http:\n      url:", "4: A: http: url is empty: " + example},
		{"http:\n      url: [a]", "4: A: http: url is a list: " + example},
		{"http:\n      url: sms", "4: A: http: url doesn't begin with"},
		{"http:\n      url: https://a\n      header: {}", "5: A: http: unknown key header: did you mean headers?"},
		{"http:\n      url: https://a\n      method: PUT", "5: A: http: unknown key method: known here are url, headers"},
		{"http:\n      url: https://a\n      url: https://b", "5: url stands here for the second time (line 4)"},
		{"http:\n      url: https://a\n      headers:", "5: A: http: headers is empty: write each name with its value, such as headers: {"},
		{"http:\n      url: https://a\n      headers: [a]", "5: A: http: headers is a list: write each name"},
		{"http:\n      url: https://u:p@a\n      headers: {authorization: b}", "5: A: http: headers: Authorization and the user in the url exclude each other: keep one of them"},

		{header("X-A: [b]"), "6: A: http: headers: X-A is a list: write a text"},
		{header("X-A:"), "6: A: http: headers: X-A is empty: write a text"},
		{header("X A: b"), "6: A: http: headers: X A is no header's name: letters, digits and - make one"},
		{header("'': b"), "6: A: http: headers: \"\" is no header's name"},
		{header("'Ä': b"), "6: A: http: headers: Ä is no header's name"},
		{header("content-length: 5"), "6: A: http: headers: content-length is set by the worker itself: leave it out"},
		{header("Host: a"), "6: A: http: headers: Host is set by the worker itself"},
		{header("resque-class: a"), "6: A: http: headers: resque-class is set by the worker itself"},
		{header("A: b\n        a: c"), "7: A: http: headers: a stands here for the second time: keep one of them"},
		{header("A: '${B'"), "6: A: http: headers: A has a ${ that begins no variable: write its name in braces, such as ${SMS_TOKEN}"},
		{header("A: '${}'"), "6: A: http: headers: A has a ${ that begins no variable"},
		{header("A: '${B} ${C D}'"), "6: A: http: headers: A has a ${ that begins no variable"},
		{header(`A: "b\n"`), "6: A: http: headers: A holds a line end or another control character, which no header can: leave it out"},
	}
}

func TestParseRefusesAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range refusedAddresses() {
		t.Run(tt.lines, func(t *testing.T) {
			t.Parallel()
			_, err := jobsfile.Parse("jobs.yml", posted(tt.lines))
			if err == nil || !strings.HasPrefix(err.Error(), "jobs.yml:"+tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s", err, tt.says)
			}
		})
	}
}

// TestRefusalsHideAddresses: a password isn't told to a log.
func TestRefusalsHideAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://user:s3cret@a/#x", "https://user:s3cret@a:0/", "ftp://user:s3cret@a/", "user:s3cret@a", "https://user:s3cret@/", "https://user:s3 cret@a", "https://user:s3cret/x@a"} {
		_, err := jobsfile.Parse("jobs.yml", posted("http: '"+address+"'"))
		if err == nil || strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestHowToIsAnAddress: what a refusal says can be written.
func TestHowToIsAnAddress(t *testing.T) {
	t.Parallel()
	_, err := jobsfile.Parse("jobs.yml", posted("http:"))
	_, mapping, ok := strings.Cut(fmt.Sprint(err), "with headers ")
	if !ok {
		t.Fatal(err)
	}
	file, err := jobsfile.Parse("jobs.yml", posted(mapping))
	if err != nil || addressText(file.Jobs[0].HTTP) != "https://sms.internal/deliver [Authorization=Bearer ${SMS_TOKEN}]" {
		t.Errorf("%s: %v", mapping, err)
	}
}

func TestResolveHeaders(t *testing.T) {
	t.Parallel()
	env := map[string]string{"TOKEN": "t0ken", "_n1": "${TOKEN}", "EMPTY": "", "TWO_LINES": "a\n"}
	lookup := func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
	tests := []struct{ value, want, says string }{
		{"plain", "plain", ""},
		{"Bearer ${TOKEN}", "Bearer t0ken", ""},
		{"${TOKEN}${_n1}$TOKEN", "t0ken${TOKEN}$TOKEN", ""}, // a value is no template
		{"${ABSENT}", "", "the environment has no ABSENT: set it before the worker starts"},
		{"${EMPTY}", "", "the environment has no EMPTY: set it"},
		{"${TWO_LINES}", "", "TWO_LINES holds a line end or another control character, which no header can: set it without"},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			t.Parallel()
			file, err := jobsfile.Parse("jobs.yml", posted("http:\n      url: https://a\n      headers:\n        B: x\n        A: '"+tt.value+"'"))
			if err != nil {
				t.Fatal(err)
			}
			err = file.Resolve(lookup)
			if tt.says != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "jobs.yml:7: A: http: headers: A: "+tt.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if got := file.Jobs[0].HTTP.Headers[1].Value; err != nil || got != tt.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// TestResolveTellsEverything has a program and a variable that are missing.
func TestResolveTellsEverything(t *testing.T) {
	t.Parallel()
	file, err := jobsfile.Parse("jobs.yml", posted("http: {url: https://a, headers: {B: '${ABSENT}'}}\n  C:\n    exec: [no-such-program-anywhere]"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(file.Resolve(noEnv))
	if !strings.HasPrefix(text, "jobs.yml:3: A: http:") || !strings.Contains(text, "\njobs.yml:5: C: exec: no program") {
		t.Error(text)
	}
}
