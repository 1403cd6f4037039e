package retry

import (
	"crypto/sha1" //nolint:gosec // resque-retry's identifiers are SHA-1
	"encoding/hex"
	"errors"
	"fmt"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

const (
	keyPrefix     = "resque-retry"
	keySeparator  = ":"
	argsSeparator = "-"
)

var errEmptyKey = errors.New("the key is empty")

// key names the job's counter.
func (r *retrier) key(job *resque.Job) (string, error) {
	if r.Key != nil {
		return guarded("Key", func() (string, error) {
			key := r.Key(job)
			if key == "" {
				return "", errEmptyKey
			}
			return key, nil
		})
	}
	id, ok, err := r.identifier(job)
	if err != nil {
		return "", err
	}
	key := keyPrefix + keySeparator + job.Class
	if ok {
		key += keySeparator + id
	}
	return ruby.Strip(key), nil
}

func (r *retrier) identifier(job *resque.Job) (id string, ok bool, err error) {
	if r.Identifier != nil {
		id, err = guarded("Identifier", func() (string, error) {
			var id string
			id, ok = r.Identifier(job)
			return id, nil
		})
		return id, ok, err
	}
	if r.fields != nil {
		id, err := r.fields.identify(job, r.Inspect)
		return id, true, err
	}
	joined, err := ruby.Join(job.Args, argsSeparator, r.Inspect)
	if err != nil {
		return "", false, fmt.Errorf("retry: the arguments of %s: %w", job.Class, err)
	}
	if len(joined) == 0 {
		return "", false, nil
	}
	sum := sha1.Sum(joined) //nolint:gosec // as above
	return hex.EncodeToString(sum[:]), true, nil
}
