/**
 * Passes signals on to a running job, and stops and continues the job together with the wrapper.
 */
import type { Job } from './job.js'
import type { Keyboard } from './keyboard.js'
import { isMessage, type SignalHandler } from './signals.js'

/**
 * In a terminal these come from the keyboard: the kernel sends them to the whole foreground group.
 */
const FROM_KEYBOARD: readonly string[] = ['SIGINT', 'SIGQUIT']

/** @param keyboard in a terminal; without one every signal is passed on */
export function forwardTo(job: Job, keyboard: Keyboard | undefined): SignalHandler {
  return (signal) => {
    if (isMessage(signal)) job.signalCommandOnly(signal)
    else if (keyboard === undefined || !FROM_KEYBOARD.includes(signal)) job.signal(signal)
    else {
      // A second copy would turn one Ctrl-C into two, and many programs then end without cleaning
      // up.
      void keyboard.sent().then((toAll) => {
        if (!toAll) job.signal(signal)
      })
    }
  }
}

/**
 * Makes a stop of the wrapper a stop of the job. In a terminal the kernel does so by itself: Ctrl-Z
 * reaches the whole foreground group, and so does the shell's `fg`. The wrapper must stop a job in
 * a session of its own, or that would keep running without renewals. The job continues only when
 * the lease is still alive.
 *
 * `mayContinue` checks the lease, and ends the job when the lease is over. Returns a function that
 * removes the listeners.
 */
export function stopTogether(
  job: Job,
  terminal: boolean,
  mayContinue: () => Promise<boolean>,
): () => void {
  const onContinue = (): void => {
    void mayContinue().then((goOn) => {
      if (goOn && !terminal) job.signal('SIGCONT')
    })
  }
  const onStop = (): void => {
    // Its group is orphaned, where SIGTSTP has no effect; SIGSTOP has.
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
