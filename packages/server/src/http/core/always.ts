/**
 * Headers of every answer: no caching, no sniffing, no referrer, no scripts, no framing and no embedding by other sites. A route
 * that answers with a page sends its own policy.
 */
export const ALWAYS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
}
