package ruby_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"example.com/understudy/compat/ruby"
)

func load(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "ruby", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

type keyFile struct {
	Rows []struct {
		Args       string  `json:"args_json"`
		Joined     string  `json:"joined"`
		Identifier *string `json:"identifier"`
		Key        string  `json:"key"`
	} `json:"rows"`
}

func TestRecordedKeys(t *testing.T) {
	t.Parallel()
	forms := map[string]ruby.InspectForm{"keys.json": ruby.Inspect31, "keys-inspect-3.4.json": ruby.Inspect34}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file keyFile
			load(t, name, &file)
			if len(file.Rows) < 100 {
				t.Fatalf("only %d rows", len(file.Rows))
			}
			for _, row := range file.Rows {
				joined, err := ruby.Join([]byte(row.Args), "-", form)
				if err != nil || string(joined) != row.Joined {
					t.Errorf("Join(%s) = %q, %v; Ruby: %q", row.Args, joined, err, row.Joined)
				}
				key := "resque-retry:KeyJob"
				if row.Identifier != nil {
					sum := sha1.Sum(joined)
					key += ":" + hex.EncodeToString(sum[:])
				}
				if key != row.Key || (row.Identifier == nil) != (len(joined) == 0) {
					t.Errorf("key of %s = %q; Ruby: %q", row.Args, key, row.Key)
				}
			}
		})
	}
}

type jsonFile struct {
	Rows []struct {
		Raw     string `json:"raw"`
		Encoded string `json:"encoded"`
		Args    string `json:"args_encoded"`
	} `json:"rows"`
	Malformed []struct {
		Hex   string `json:"raw_hex"`
		Error string `json:"error"`
	} `json:"malformed"`
}

func TestRecordedJSON(t *testing.T) {
	t.Parallel()
	var file jsonFile
	load(t, "json.json", &file)
	if len(file.Rows) < 100 {
		t.Fatalf("only %d rows", len(file.Rows))
	}
	for _, row := range file.Rows {
		got, err := ruby.Reencode([]byte(row.Raw))
		if err != nil || string(got) != row.Encoded {
			t.Errorf("Reencode(%s) = %s, %v; Ruby: %s", row.Raw, got, err, row.Encoded)
		}
		members, err := ruby.Members([]byte(row.Raw))
		if err != nil {
			t.Errorf("Members(%s): %v", row.Raw, err)
		}
		args := []byte("null")
		for _, m := range members {
			if m.Key == "args" {
				args = m.Value
			}
		}
		if got, err := ruby.Reencode(args); err != nil || string(got) != row.Args {
			t.Errorf("args of %s = %s, %v; Ruby: %s", row.Raw, got, err, row.Args)
		}
	}
}

func TestRecordedMalformed(t *testing.T) {
	t.Parallel()
	var file jsonFile
	load(t, "json.json", &file)
	if len(file.Malformed) < 5 {
		t.Fatalf("only %d rows", len(file.Malformed))
	}
	for _, row := range file.Malformed {
		raw, err := hex.DecodeString(row.Hex)
		if err != nil {
			t.Fatal(err)
		}
		if err := ruby.Check(bytes.Clone(raw)); (err != nil) != (row.Error != "") {
			t.Errorf("Check(%q) = %v; Ruby: %q", raw, err, row.Error)
		}
	}
}
