// Understudy works the queues of Ruby's Resque.
package main

import (
	"context"
	"os"

	"example.com/understudy/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.Environment{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv,
	}))
}
