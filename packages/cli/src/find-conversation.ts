/** Finds conversations by the beginning of their id, or by their directory. */
import type { ParleyClient } from '@parley/client'
import { parseConversationId, type ConversationId, type ConversationInfo } from '@parley/protocol'
import { UsageError } from './args.ts'

/** Characters of an id that lists show. */
const SHOWN = 8
/** Fewer characters would soon name several conversations. */
const FEWEST = 4
/** The newest conversations that are searched for the beginning of an id. */
const SEARCHED = 2000
const PAGE = 100

/** The id as lists show it. */
export const shortId = (id: string): string => id.slice(0, SHOWN)

/** Yields the conversations of the user, the one that changed last first. */
export async function* newestConversations(client: ParleyClient, most = SEARCHED): AsyncGenerator<ConversationInfo> {
  let page_id: string | undefined
  for (let left = most; left > 0; left -= PAGE) {
    const page = await client.search({
      sort_order: 'UPDATED_AT_DESC',
      limit: Math.min(left, PAGE),
      ...(page_id === undefined ? {} : { page_id }),
    })
    yield* page.items
    if (page.next_page_id == null) return
    page_id = page.next_page_id
  }
}

/** The conversation of the user in `directory` that changed last; null without one. */
export async function newestIn(client: ParleyClient, directory: string): Promise<ConversationInfo | null> {
  for await (const info of newestConversations(client)) if (info.workspace.working_dir === directory) return info
  return null
}

/** The same word, for a check before a server is asked. @throws UsageError for a word that is no id and no beginning of one */
export function idWord(word: string): string {
  if (parseConversationId(word) !== null || (word.length >= FEWEST && /^[0-9a-f-]+$/i.test(word))) return word
  throw new UsageError(
    `"${word}" is no id of a conversation; use an id of "parley ls", or at least its first ${FEWEST} characters`,
  )
}

/**
 * The id that a word names: a whole id, or the beginning of one.
 * @throws UsageError when it is neither, or the beginning of no conversation or of several
 */
export async function findConversation(client: ParleyClient, word: string): Promise<ConversationId> {
  const whole = parseConversationId(idWord(word))
  if (whole !== null) return whole
  const found: ConversationId[] = []
  for await (const { id } of newestConversations(client)) if (id.startsWith(word.toLowerCase())) found.push(id)
  const [id, second] = found
  if (id === undefined) throw new UsageError(`no conversation has an id that begins with "${word}"`)
  if (second !== undefined)
    throw new UsageError(`several conversations have an id that begins with "${word}": ${found.join(', ')}`)
  return id
}
