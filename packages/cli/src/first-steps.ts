/** What a start prints for people: the link of the web UI, and the key that the first start has created. */
import { shellQuote, type Server } from '@parley/server'
import type { Io } from './io.ts'

/** Output that is no terminal may be a journal, which other accounts can read; there, the file of the key is named. */
export function firstSteps(
  url: string,
  { key, path }: NonNullable<Server['firstKey']>,
  { stdout }: { stdout: Pick<Io['stdout'], 'isTTY'> },
): string {
  const request = (text: string) => `curl -H "X-Session-API-Key: ${text}" ${url}/api/conversations/search`
  if (stdout.isTTY === true) return `your key is ${key} (shown once): ${request(key)}`
  return `your key is in ${path}: ${request(`$(cat ${shellQuote(path)})`)}`
}

/**
 * The line with the link of the web UI; null without a UI. A journal, which other accounts can read, gets no login code, although that
 * works only once.
 */
export async function uiLine(server: Pick<Server, 'uiLink'>, { env }: Pick<Io, 'env'>): Promise<string | null> {
  // Set by systemd for a program whose output is a journal.
  const isJournal = (env['JOURNAL_STREAM'] ?? '') !== ''
  const link = await server.uiLink({ hasCode: !isJournal })
  if (link === null) return null
  return link.isLoggedIn
    ? `open the web UI: ${link.url}`
    : `the web UI is at ${link.url}; get a link that logs in with: parley open`
}
