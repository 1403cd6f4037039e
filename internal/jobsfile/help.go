package jobsfile

// howTo says what a key takes, for refusals.
func howTo(key string) string {
	texts := map[string]string{
		"queue":                        "the name of a queue, such as queue: mt_messages",
		"exec":                         "a list of the program and its arguments, such as exec: [./deliver-sms, --fast]",
		"http":                         `an address, such as http: https://sms.internal/deliver, or with headers http: {url: "https://sms.internal/deliver", headers: {Authorization: "Bearer ${SMS_TOKEN}"}}`,
		"timeout":                      "seconds or a time with its unit, such as timeout: 30s",
		"at_deadline":                  "give_back, fail or drop, such as at_deadline: fail",
		"plugin":                       "none, retry or exponential_backoff, such as plugin: retry",
		"retry_limit":                  "a whole number, such as retry_limit: 10 (0: never, -1: for ever)",
		"retry_delay":                  "whole seconds, such as retry_delay: 120",
		"retry_exceptions":             "a list of error classes, or each with its delays, such as retry_exceptions: {NetworkError: 30, SystemCallError: [120, 240]}",
		"fatal_exceptions":             "a list of error classes, such as fatal_exceptions: [BadRecipient]",
		"ignore_exceptions":            "a list of error classes, such as ignore_exceptions: [Resque::TermException]",
		"backoff_strategy":             "a list of whole seconds, such as backoff_strategy: [0, 60, 600], or backoff_strategy: default",
		"retry_waits":                  "a list of whole seconds, such as retry_waits: [2, 2, 5], or retry_waits: default",
		"max_attempts":                 "a whole number, such as max_attempts: 10 (the first attempt included; -1: without end)",
		"retry_delay_multiplicand_min": "a number, such as retry_delay_multiplicand_min: 0.8",
		"retry_delay_multiplicand_max": "a number, such as retry_delay_multiplicand_max: 1.5",
		"expire_retry_key_after":       "whole seconds, such as expire_retry_key_after: 3600",
		"sleep_after_requeue":          "seconds, such as sleep_after_requeue: 5",
		"retry_queue":                  "the name of a queue, such as retry_queue: low",
		"retry_job_delegate":           "another class with its queue, such as retry_job_delegate: {class: EmergencySMS, queue: emergency}",
		"retry_identifier":             `the arguments that tell jobs apart, such as retry_identifier: {fields: [0], join: ":"}, or {fixed: sms}`,
		"redis_retry_key":              "the key of the counter, such as redis_retry_key: retries/sms",
		"retry_args":                   "one of replace, increment and append_exception, such as retry_args: {replace: [1, a]}",
		"retry_delay_by_exception":     `whole seconds by error class, such as retry_delay_by_exception: {RateLimited: 10, "*": 1}`,
		"retry_delay_from_arg":         "the index of an argument, such as retry_delay_from_arg: 0",
		"criteria_checks":              "a list of checks, such as criteria_checks: [{message_includes: again, returns: true}]",
	}
	return texts[key]
}

// onlyInGo says where the gem's methods are that a file can't hold; "": it is
// none of them.
func onlyInGo(key string) string {
	const code = "is code, which needs a worker in Go: "
	texts := map[string]string{
		"give_up_callback":         code + "retry.Policy.GiveUp",
		"try_again_callback":       code + "retry.Policy.TryAgain",
		"retry_criteria_check":     code + "retry.Policy.Check, or criteria_checks here",
		"retry_criteria_checks":    code + "retry.Policy.Check, or criteria_checks here",
		"retry_args_for_exception": code + "retry.Policy.Args, or retry_args here",
	}
	return texts[key]
}
