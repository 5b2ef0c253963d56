/** `parley keys`: works on the data directory itself and needs neither a running server nor a key. */
import { mkdir } from 'node:fs/promises'
import { openKeys, readConfig } from '@parley/server'
import { command, UsageError } from '../args.ts'
import { printLine, type Io } from '../io.ts'
import { parseExpiry } from '../expiry.ts'
import { DATA_FLAGS } from '../server-flags.ts'
import { table } from '../table.ts'

const ROLES = ['admin', 'user', 'read-only', 'webhook'] as const
type Keys = Awaited<ReturnType<typeof openKeys>>
type KeyRow = Awaited<ReturnType<Keys['listKeys']>>[number]
type Flags = Partial<Record<'user' | 'role' | 'label' | 'expires', string>>

export const spec = command({
  usage: 'keys create|list|revoke ID|rotate ID [flags]',
  about: 'Creates, lists, revokes and rotates keys. A key is shown once, at its creation; only its hash is stored.',
  flags: {
    user: { type: 'string', value: 'NAME', about: 'create: user of the key (default "default")' },
    role: { type: 'string', value: 'ROLE', about: `create: ${ROLES.join(', ')} (default user)` },
    label: { type: 'string', value: 'TEXT', about: 'create: purpose of the key, shown in the list' },
    expires: { type: 'string', value: 'WHEN', about: 'create, rotate: 12h, 90d, 1y or a date such as 2027-06-30' },
    mode: {
      type: 'string',
      value: 'MODE',
      about: 'mode of the server: personal (default), or shared for several users',
    },
    ...DATA_FLAGS,
  },
  words: [1, 2],
  async run({ flags, words }, io) {
    const [action, id] = words
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    // Keys may be created before the first start.
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
    await using keys = await openKeys(config)
    switch (action) {
      case 'create':
        return await create(keys, flags, io)
      case 'list':
        return await list(keys, io)
      case 'revoke':
        return await revoke(keys, needed(id, action), io)
      case 'rotate':
        return await rotate(keys, needed(id, action), flags, io)
      default:
        throw new UsageError(`keys can create, list, revoke and rotate, not "${action}"`)
    }
  },
})

async function create(keys: Keys, flags: Flags, io: Io): Promise<number> {
  const role = ROLES.find((name) => name === (flags.role ?? 'user'))
  if (role === undefined) throw new UsageError(`--role must be one of ${ROLES.join(', ')}, not "${flags.role}"`)
  const { row, key } = await keys.createKey({
    user: flags.user ?? 'default',
    role,
    label: flags.label ?? null,
    expires_at: flags.expires === undefined ? null : parseExpiry(flags.expires, new Date()),
  })
  printKey(row, key, io)
  return 0
}

async function list(keys: Keys, io: Io): Promise<number> {
  const rows = await keys.listKeys()
  if (rows.length === 0) {
    printLine(io, 'no keys; make one with: parley keys create')
    return 0
  }
  const cells = rows.map((row) => cellsOf(row, new Date()))
  const lines = table(['id', 'user', 'role', 'state', 'created', 'label'], cells)
  for (const line of lines) printLine(io, line)
  return 0
}

async function revoke(keys: Keys, id: string, io: Io): Promise<number> {
  if (!(await keys.revokeKey(id))) throw new Error(`there is no key ${id}; parley keys list shows them`)
  printLine(io, `revoked ${id}`)
  return 0
}

/** Creates the new key first: when that fails, the old one still works. */
async function rotate(keys: Keys, id: string, flags: Flags, io: Io): Promise<number> {
  const old = (await keys.listKeys()).find((row) => row.id === id)
  if (old === undefined) throw new Error(`there is no key ${id}; parley keys list shows them`)
  if (old.revoked_at !== null) throw new Error(`key ${id} is revoked; make a new one with: parley keys create`)
  const expires_at = flags.expires === undefined ? old.expires_at : parseExpiry(flags.expires, new Date())
  if (expires_at !== null && new Date(expires_at) <= new Date())
    throw new UsageError(`key ${id} has expired; say with --expires until when the new one is good`)
  const { row, key } = await keys.createKey({ user: old.user, role: old.role, label: old.label, expires_at })
  await keys.revokeKey(id)
  printKey(row, key, io)
  printLine(io, `revoked ${id}`)
  return 0
}

function printKey(row: KeyRow, key: string, io: Io): void {
  const until = row.expires_at === null ? 'until it is revoked' : `until ${row.expires_at}`
  printLine(io, `key ${row.id} of ${row.user} (${row.role}), good ${until}; it is shown only now:`)
  printLine(io, key)
}

function cellsOf(row: KeyRow, now: Date): string[] {
  const hasExpired = row.expires_at !== null && new Date(row.expires_at) <= now
  const ends = row.expires_at === null ? 'good' : `until ${row.expires_at.slice(0, 10)}`
  const state = row.revoked_at !== null ? `revoked ${row.revoked_at.slice(0, 10)}` : hasExpired ? 'expired' : ends
  return [row.id, row.user, row.role, state, row.created_at.slice(0, 10), row.label ?? '']
}

function needed(id: string | undefined, action: string): string {
  if (id === undefined) throw new UsageError(`keys ${action} needs the id of a key; parley keys list shows them`)
  return id
}
