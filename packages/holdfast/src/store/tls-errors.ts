/** Failures of TLS that only other settings end. */

const CERTIFICATE =
  /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY|DECRYPT|DECODE)|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH/

/**
 * Whether this side did not accept the server's certificate, by the code that Node.js gives to the
 * error or to its cause.
 */
export function isCertificateError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  return (typeof code === 'string' && CERTIFICATE.test(code)) || isCertificateError(cause)
}

export const CERTIFICATE_ADVICE =
  'Give the client the certificate of the authority that signed it, or the name that stands in it.'
