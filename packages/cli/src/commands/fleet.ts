/** `parley fleet`: prints the nodes that share a store, as a running server sees them. */
import type { Fleet } from '@parley/protocol'
import { command } from '../args.ts'
import { connect, CONNECT_FLAGS } from '../connect.ts'
import { printLine } from '../io.ts'
import { table } from '../table.ts'

export const spec = command({
  usage: 'fleet [flags]',
  about: 'Prints the nodes that share the store of a server, and what runs on them. Needs a key with the role admin.',
  flags: { json: { type: 'boolean', about: 'print the answer of the server as JSON' }, ...CONNECT_FLAGS },
  words: [0, 0],
  async run({ flags }, io) {
    const fleet = await (await connect(flags, io)).fleet()
    for (const line of flags.json === true ? [JSON.stringify(fleet)] : linesOf(fleet)) printLine(io, line)
    return 0
  },
})

function linesOf({ nodes, orphans, webhook_targets: targets, store }: Fleet): string[] {
  const rows = nodes.map(({ node, url, version, running, started_at, draining_at, is_this }) => [
    `${node}${is_this ? '*' : ''}`,
    url === '' ? '-' : url,
    version,
    draining_at === null ? 'serving' : 'draining',
    String(running),
    started_at.slice(0, 19),
  ])
  const standby =
    store.synchronous_standby === null
      ? ''
      : store.synchronous_standby
        ? ', synchronous standby'
        : ', no synchronous standby'
  return [
    ...table(['node', 'address', 'version', 'state', 'running', 'started'], rows),
    '',
    `* answers. ${orphans} conversations wait for a node.`,
    `store: ${store.engine} ${store.version}${standby}`,
    ...(targets.length === 0
      ? []
      : [
          '',
          ...table(
            ['webhook target', 'sender'],
            targets.map(({ target, sender }) => [target, sender === null ? 'none' : `node ${sender}`]),
          ),
        ]),
  ]
}
