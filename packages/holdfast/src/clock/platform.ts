/** The platform that the process runs on, where its timers and requests differ from Node's. */

/** Whether this is Cloudflare's runtime, which ties all work to the request in which it began. */
export function isWorker(): boolean {
  return typeof navigator === 'object' && navigator.userAgent === 'Cloudflare-Workers'
}
