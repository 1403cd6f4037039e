package resque

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"time"
)

// NoNamespace as Options.Namespace gives keys without any prefix.
const NoNamespace = ":"

// Options are the settings of a Client. The zero value is a good one.
type Options struct {
	// Namespace stands before every key, with a colon. "": DefaultNamespace;
	// NoNamespace: none. A trailing colon is dropped.
	Namespace string

	// DialTimeout bounds the making of a connection: TCP, TLS, password and
	// database together. 0: 5 s; negative: refused.
	DialTimeout time.Duration
	// ReadTimeout bounds the wait for each reply. 0: 5 s; negative: refused.
	ReadTimeout time.Duration
	// WriteTimeout bounds the sending of each command. 0: 5 s; negative:
	// refused.
	WriteTimeout time.Duration

	// PoolSize is how many connections the client's calls share; more calls at
	// one time wait for a free one. A worker's dispatcher has connections of its
	// own beside them. 0: 4; negative: refused.
	PoolSize int

	// TLS is the start for the TLS settings of a rediss:// URL; the server's
	// name is the URL's host unless it is set here. nil: Go's defaults. Refused
	// beside a URL without TLS.
	TLS *tls.Config
	// CAFile is a PEM file with the authorities that may have signed the
	// server's certificate, instead of the system's (added to those of TLS, if
	// set there). "": none. Refused beside a URL without TLS.
	CAFile string
	// SkipVerify accepts any certificate, also beside CAFile. Refused beside a
	// URL without TLS.
	SkipVerify bool

	// SentinelUser and SentinelPassword log in at the Sentinels of a
	// redis-sentinel:// URL, whose own user and password are the master's. "":
	// none. Refused beside another URL.
	SentinelUser, SentinelPassword string
	// SentinelPlain speaks with the Sentinels of a rediss-sentinel:// URL without
	// TLS. Refused beside another URL.
	SentinelPlain bool

	// MaxDelay is the longest delay that EnqueueAt and the like accept: more is
	// taken for a mistake, such as an absolute time given as a delay. 0: ten
	// years; negative: no limit.
	MaxDelay time.Duration

	// Hooks are called round the client's calls. Zero: none.
	Hooks ClientHooks

	// Logger hears of waits and reconnections. nil: nobody does.
	Logger *slog.Logger
	// Clock tells whether a delayed job is due already, and waits between tries
	// to connect. nil: the system's.
	Clock Clock
}

const (
	defaultTimeout  = 5 * time.Second
	defaultPoolSize = 4
	defaultMaxDelay = 10 * 365 * 24 * time.Hour
)

// complete checks o and fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	for _, timeout := range []struct {
		field string
		value *time.Duration
	}{
		{"Options.DialTimeout", &o.DialTimeout},
		{"Options.ReadTimeout", &o.ReadTimeout},
		{"Options.WriteTimeout", &o.WriteTimeout},
	} {
		if *timeout.value < 0 {
			return o, configError(timeout.field, "is negative: use 0 for the default of 5 s")
		}
		if *timeout.value == 0 {
			*timeout.value = defaultTimeout
		}
	}
	if o.PoolSize < 0 {
		return o, configError("Options.PoolSize", "is negative: use 0 for the default of 4")
	}
	if o.PoolSize == 0 {
		o.PoolSize = defaultPoolSize
	}
	if o.MaxDelay == 0 {
		o.MaxDelay = defaultMaxDelay
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return o, nil
}

// tlsConfig is what a connection to t uses; nil: no TLS.
func (o Options) tlsConfig(t target) (*tls.Config, error) {
	if !t.tls {
		switch {
		case o.TLS != nil:
			return nil, configError("Options.TLS", "is set, but the URL is without TLS: write rediss://…")
		case o.CAFile != "":
			return nil, configError("Options.CAFile", "is set, but the URL is without TLS: write rediss://…")
		case o.SkipVerify:
			return nil, configError("Options.SkipVerify", "is set, but the URL is without TLS: write rediss://…")
		}
		return nil, nil //nolint:nilnil // no TLS is an answer
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		config = o.TLS.Clone()
	}
	if o.CAFile != "" {
		if err := addAuthorities(config, o.CAFile); err != nil {
			return nil, err
		}
	}
	if o.SkipVerify {
		config.InsecureSkipVerify = true
	}
	return config, nil
}

// namedServer is config for a server of that name, unless it names one itself.
func namedServer(config *tls.Config, host string) *tls.Config {
	if config.ServerName != "" {
		return config
	}
	config = config.Clone()
	config.ServerName = host
	return config
}

// checkSentinel refuses settings for Sentinels beside a URL without any.
func (o Options) checkSentinel(t target) error {
	const instead = "is set, but the URL names no Sentinel: write "
	switch {
	case t.master == "" && o.SentinelUser != "":
		return configError("Options.SentinelUser", instead+sentinelForm)
	case t.master == "" && o.SentinelPassword != "":
		return configError("Options.SentinelPassword", instead+sentinelForm)
	case o.SentinelPlain && (t.master == "" || !t.tls):
		return configError("Options.SentinelPlain", instead+"rediss-sentinel://…")
	}
	return nil
}

func addAuthorities(config *tls.Config, file string) error {
	pem, err := os.ReadFile(file) //nolint:gosec // the file that the user names
	if err != nil {
		return configError("Options.CAFile", "can't be read: "+err.Error())
	}
	authorities := x509.NewCertPool()
	if config.RootCAs != nil {
		authorities = config.RootCAs.Clone()
	}
	if !authorities.AppendCertsFromPEM(pem) {
		return configError("Options.CAFile", file+" holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	config.RootCAs = authorities
	return nil
}
