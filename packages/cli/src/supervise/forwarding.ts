/**
 * Passes signals on to a running job, and keeps the job and the wrapper stopped or going together.
 */
import type { Job } from './job.js'
import type { Keyboard } from './keyboard.js'
import { isMessage, type SignalHandler } from './signals.js'

/**
 * In a terminal these come from the keyboard, and the kernel gives them to the whole foreground
 * group itself.
 */
const FROM_KEYBOARD: readonly string[] = ['SIGINT', 'SIGQUIT']

/** @param keyboard in a terminal; without one every signal is passed on */
export function forwardTo(job: Job, keyboard: Keyboard | undefined): SignalHandler {
  return (signal) => {
    if (isMessage(signal)) job.signalCommandOnly(signal)
    else if (keyboard === undefined || !FROM_KEYBOARD.includes(signal)) job.signal(signal)
    else {
      // Sent once more, one Ctrl-C would count as two, which many programs take for "now at once".
      void keyboard.sent().then((toAll) => {
        if (!toAll) job.signal(signal)
      })
    }
  }
}

/**
 * Makes a stop of the wrapper a stop of the job. In a terminal the kernel does so by itself: Ctrl-Z
 * reaches the whole foreground group, and so does the shell's `fg`. A job in a session of its own
 * must be stopped by us, or it would work on while nobody renews its lease, and goes on only when
 * the lease is seen to be alive.
 *
 * `mayGoOn` looks at the lease, and has the job ended when the lease is over. Returns what undoes
 * all this.
 */
export function stopTogether(
  job: Job,
  terminal: boolean,
  mayGoOn: () => Promise<boolean>,
): () => void {
  const onContinue = (): void => {
    void mayGoOn().then((goOn) => {
      if (goOn && !terminal) job.signal('SIGCONT')
    })
  }
  const onStop = (): void => {
    // Its group is an orphaned one, where SIGTSTP does nothing; SIGSTOP does.
    job.signal('SIGSTOP')
    process.kill(process.pid, 'SIGSTOP')
  }
  process.on('SIGCONT', onContinue)
  if (!terminal) process.on('SIGTSTP', onStop)
  return () => {
    process.off('SIGCONT', onContinue)
    process.off('SIGTSTP', onStop)
  }
}
