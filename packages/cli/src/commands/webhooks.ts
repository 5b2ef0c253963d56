/** `parley webhooks`: works on the store itself and needs neither a running server nor a key. */
import { openWebhookTargets, readConfig } from '@parley/server'
import { command, UsageError } from '../args.ts'
import { printLine, type Io } from '../io.ts'
import { DATA_FLAGS } from '../server-flags.ts'
import { table } from '../table.ts'

type Targets = Awaited<ReturnType<typeof openWebhookTargets>>

export const spec = command({
  usage: 'webhooks list|add|remove URL [flags]',
  about:
    'Lists the stored targets of webhooks, stores those of the configuration (setting webhooks) in place of stored ones, and removes one. ' +
    'A running server follows within two seconds.',
  flags: { ...DATA_FLAGS },
  words: [1, 2],
  async run({ flags, words }, io) {
    const [action, url] = words
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    await using targets = await openWebhookTargets(config)
    switch (action) {
      case 'list':
        return await list(targets, io)
      case 'add':
        return await add(targets, io)
      case 'remove':
        return await remove(targets, url, io)
      default:
        throw new UsageError(`webhooks can list, add and remove, not "${action}"`)
    }
  },
})

async function list(targets: Targets, io: Io): Promise<number> {
  const rows = await targets.list()
  if (rows.length === 0) printLine(io, 'no webhook targets; configure them (setting webhooks)')
  else
    for (const line of table(
      ['target', 'sends', 'from', 'changed'],
      rows.map(({ base_url, events, origin, updated_at }) => [
        base_url,
        events ? 'notifications and events' : 'notifications',
        origin,
        updated_at.slice(0, 10),
      ]),
    ))
      printLine(io, line)
  return 0
}

async function add(targets: Targets, io: Io): Promise<number> {
  const stored = await targets.addConfigured()
  if (stored.length === 0)
    throw new UsageError('no target is configured; set PARLEY_WEBHOOKS, or name a configuration file with --config')
  for (const url of stored) printLine(io, `stored ${url}`)
  return 0
}

async function remove(targets: Targets, url: string | undefined, io: Io): Promise<number> {
  if (url === undefined)
    throw new UsageError('webhooks remove needs the address of a target; parley webhooks list shows them')
  const name = url.replace(/\/+$/, '')
  if (!(await targets.remove(name))) throw new Error(`there is no target ${name}; parley webhooks list shows them`)
  printLine(io, `removed ${name}; its waiting deliveries are parked`)
  return 0
}
