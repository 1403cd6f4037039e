package ruby_test

import (
	"testing"

	"example.com/understudy/compat/ruby"
)

const samplePayload = `{"class":"DeliverSMS","args":[123456,"+46701234567","Hello, your code is 1234",{"retry":true}]}`

const sampleArgs = `[123456,"+46701234567","Hello, your code is 1234",{"retry":true}]`

func BenchmarkCheck(b *testing.B) {
	raw := []byte(samplePayload)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ruby.Check(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	raw := []byte(samplePayload)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ruby.Members(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkElements(b *testing.B) {
	raw := []byte(sampleArgs)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ruby.Elements(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	raw, buf := []byte(sampleArgs), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = ruby.AppendJoin(buf[:0], raw, "-", ruby.Inspect31); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalArgs(b *testing.B) {
	args := []any{123456, "+46701234567", "Hello, your code is 1234", map[string]any{"retry": true}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ruby.MarshalArgs(args...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalStruct(b *testing.B) {
	value := sample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ruby.Marshal(&value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFnmatch(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if !ruby.Fnmatch("tenant_*_mail[a-f]", "tenant_4711_maile") {
			b.Fatal("no match")
		}
	}
}
