/** How late a busy machine may be with what is promised, where other suites share it. */
export const SLACK_MS = 10_000
