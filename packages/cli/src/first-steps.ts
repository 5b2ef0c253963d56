/** What the first start prints about the key that it has created. */
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
