import type { ConversationId, ConversationInfo } from '@parley/protocol'
import type { Actor, Conversations } from '../conversations.ts'
import { hidden } from './export.ts'
import { zip, type ZipEntry } from './zip.ts'

const PAGE = 200

export type Archive = { name: string; pieces: AsyncGenerator<Buffer> }

/**
 * The whole log and the state as a zip archive, created while it is read. Layout of agent-server-wire.md 9.1; secrets hidden.
 * @throws ParleyError `not_found`, before the first piece.
 */
export async function archiveOf(conversations: Conversations, id: ConversationId, actor: Actor): Promise<Archive> {
  const info = await conversations.info(id, actor)
  return { name: `${id.replaceAll('-', '')}.zip`, pieces: zip(entries(conversations, info, actor)) }
}

async function* entries(conversations: Conversations, info: ConversationInfo, actor: Actor): AsyncGenerator<ZipEntry> {
  yield entry('base_state.json', info)
  for (let index = 0, seq = 0; ;) {
    const asked = { filter: {}, order: 'asc', limit: PAGE, seq } as const
    const { items } = await conversations.searchEvents(info.id as ConversationId, asked, actor)
    for (const { event } of items) {
      yield entry(`events/event-${String(index++).padStart(5, '0')}-${fileName(event.id)}.json`, hidden(event))
    }
    if (items.length < PAGE) return
    seq = items.at(-1)!.seq
  }
}

/** Ids that this server made are safe names; others may contain anything. */
const fileName = (id: string): string => id.replaceAll(/[^\w-]/g, '_').slice(0, 100)

const entry = (name: string, value: unknown): ZipEntry => ({ name, bytes: Buffer.from(JSON.stringify(value, null, 2)) })
