/** Routes of the API description, for programs and for people. It is made on the first request and kept. */
import type { Endpoint } from '@parley/protocol'
import { docsPage, docsPolicy } from './docs-page.ts'
import { redirect } from '../core/errors.ts'
import { describe, type Document } from './openapi.ts'
import type { Route } from '../core/web.ts'

/** @param limitOf the largest body of a row on this server, in bytes */
export function documentationRoutes(
  rows: readonly Endpoint[],
  version: string,
  limitOf: (row: Endpoint) => number,
): Route[] {
  let document: Document | undefined
  let page: string | undefined
  const made = () => (document ??= describe(rows, version, limitOf))
  return [
    { method: 'GET', path: '/openapi.json', isOpen: true, answer: async () => ({ status: 200, body: made() }) },
    {
      method: 'GET',
      path: '/docs',
      isOpen: true,
      answer: async () => ({
        status: 200,
        body: (page ??= docsPage(made())),
        headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': docsPolicy() },
      }),
    },
    { method: 'GET', path: '/redoc', isOpen: true, answer: async () => redirect('/docs') },
  ]
}
