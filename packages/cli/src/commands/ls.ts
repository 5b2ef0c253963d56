/** `parley ls`: lists conversations, the one that changed last first. */
import type { ConversationInfo } from '@parley/protocol'
import { command, UsageError } from '../args.ts'
import { connect, CONNECT_FLAGS } from '../connect.ts'
import { newestConversations, shortId } from '../find-conversation.ts'
import { clip, plain } from '../paint.ts'
import { table } from '../table.ts'
import { writeLines } from '../view.ts'

const DEFAULT_LIMIT = 20
const TITLE_WIDTH = 48

export const spec = command({
  usage: 'ls [flags]',
  about: 'Lists the conversations of this directory, or all of them, the one that changed last first.',
  flags: {
    all: { type: 'boolean', short: 'a', about: 'conversations of every directory' },
    limit: { type: 'string', value: 'N', short: 'n', about: `most rows (default ${DEFAULT_LIMIT})` },
    json: { type: 'boolean', about: 'print one JSON object per line' },
    ...CONNECT_FLAGS,
  },
  words: [0, 0],
  async run({ flags }, io) {
    const limit = flags.limit === undefined ? DEFAULT_LIMIT : Number(flags.limit)
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new UsageError(`--limit must be a whole number from 1, not "${flags.limit}"`)
    const client = await connect(flags, io)
    const found: ConversationInfo[] = []
    for await (const info of newestConversations(client)) {
      if (flags.all === true || info.workspace.working_dir === io.cwd) found.push(info)
      if (found.length === limit) break
    }
    if (flags.json === true) {
      await writeLines(
        io,
        found.map((info) => JSON.stringify(row(info))),
      )
      return 0
    }
    if (found.length === 0) {
      const where = flags.all === true ? '' : ' in this directory; "parley ls --all" lists those of every directory'
      await writeLines(io, [`no conversations${where}`])
      return 0
    }
    const columns = flags.all === true ? ['directory'] : []
    const rows = found.map((info) => {
      const { id, status, updated_at, title, directory } = row(info)
      const place = flags.all === true ? [shortened(directory, io.home)] : []
      return [
        shortId(id),
        status,
        (updated_at ?? '').slice(0, 16).replace('T', ' '),
        ...place,
        clip(title ?? '', TITLE_WIDTH),
      ]
    })
    await writeLines(io, table(['id', 'status', 'changed (UTC)', ...columns, 'title'], rows))
    return 0
  },
})

const row = ({ id, execution_status: status, updated_at, title, workspace }: ConversationInfo) => ({
  id,
  status,
  updated_at,
  title: title === null ? null : plain(title).replaceAll('\n', ' '),
  directory: plain(workspace.working_dir),
})

const shortened = (path: string, home: string): string =>
  path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
