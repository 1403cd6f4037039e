#!/bin/sh
# Performs WelcomeMail(address): whatever it says last on standard error is the
# error.
payload=$(cat)
case $payload in
*@*) echo "mail $2 sends: $payload" ;;
*)
	echo "no address in $payload" >&2
	exit 1
	;;
esac
