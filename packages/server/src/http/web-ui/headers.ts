/** Headers of the page and of its assets. Source: docs/security.md, The web UI. */

/**
 * Only files of this server, no string that becomes HTML (Trusted Types; the one policy `parley` creates the addresses of workers),
 * no framing. `connect-src 'self'` includes sockets of the same origin.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types parley',
].join('; ')

/** Features of the browser that the page never uses. The clipboard is not among them. */
const DENIED_FEATURES = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
]

/** Of the page. A changed build is seen at the next load, because the page is always revalidated. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': DENIED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'cache-control': 'no-cache',
}

/** Of a file whose name contains the hash of its content. */
export const ASSET_HEADERS = {
  // A worker has the policy of its own file, not that of the page.
  'content-security-policy': POLICY,
  'cache-control': 'public, max-age=31536000, immutable',
}
