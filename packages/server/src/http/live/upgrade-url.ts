import type { IncomingMessage } from 'node:http'

/** The address of an upgrade request. A client may send any text as its path; one that is no path is the root. */
export const upgradeUrl = ({ url = '/' }: IncomingMessage): URL =>
  URL.parse(`http://parley${url.startsWith('/') ? url : '/'}`) ?? new URL('http://parley/')
