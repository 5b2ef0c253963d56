/** `parley users`: works on the data directory itself and needs neither a running server nor a key. */
import { mkdir } from 'node:fs/promises'
import { openUserStates, readConfig } from '@parley/server'
import { command, UsageError } from '../args.ts'
import { printLine, type Io } from '../io.ts'
import { DATA_FLAGS } from '../server-flags.ts'

type States = Awaited<ReturnType<typeof openUserStates>>

const CHANGES = {
  disable: ['disabled', 'its keys are refused, and nothing of it runs'],
  enable: ['active', 'its keys are accepted, and its stopped conversations can be started'],
  delete: ['deleting', 'a running server removes its data now, and otherwise the next start does'],
} as const

export const spec = command({
  usage: 'users list|disable NAME|enable NAME|delete NAME [flags]',
  about:
    'Lists users, disables and enables them, and deletes a user with all data. A running server follows within two seconds.',
  flags: {
    ...DATA_FLAGS,
  },
  words: [1, 2],
  async run({ flags, words }, io) {
    const [action, name] = words
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
    await using users = await openUserStates(config)
    if (action === 'list') return await list(users, io)
    if (action === undefined || !Object.hasOwn(CHANGES, action))
      throw new UsageError(`users can list, disable, enable and delete, not "${action}"`)
    if (name === undefined)
      throw new UsageError(`users ${action} needs the name of a user; parley users list shows them`)
    const [state, effect] = CHANGES[action as keyof typeof CHANGES]
    await users.change(name, state)
    printLine(io, `user ${name} is ${state}: ${effect}`)
    return 0
  },
})

async function list(users: States, io: Io): Promise<number> {
  const rows = await users.list()
  if (rows.length === 0) printLine(io, 'no users; a user exists from its first key on: parley keys create')
  const width = Math.max(...rows.map(({ user }) => user.length))
  for (const { user, state, created_at } of rows)
    printLine(io, `${user.padEnd(width)}  ${state.padEnd('disabled'.length)}  ${created_at.slice(0, 10)}`)
  return 0
}
