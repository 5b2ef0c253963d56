/** What several nodes on one database exclude and find each other by. */
import type { Lease, SharedStore } from '../contract/shared.ts'
import type { Database } from './database.ts'
import { openLease } from './lease.ts'
import { watchLeases } from './lease-watch.ts'
import { liveNodes } from './liveness.ts'
import { openNotifications } from './notifications.ts'
import { expectSessions } from './pooler.ts'

/** @param onLease called with the lease of this process, which then decides whether it may take conversations of other nodes */
export function postgresShared(
  database: Database,
  { url, sessionUrl }: { url: string; sessionUrl: string | null },
  onLease: (lease: Lease) => void,
): SharedStore {
  const options = { url: sessionUrl ?? url, name: database.name }
  return {
    async openLease(node, leaseMs) {
      // That of the store itself was checked when it was opened.
      if (sessionUrl !== null) await expectSessions(options)
      const lease = await openLease({ ...options, node, leaseMs })
      onLease(lease)
      return lease
    },
    watchLeases: (node, onEnded) => watchLeases({ url: options.url, node, onEnded }),
    openNotifications: (node) => openNotifications({ ...options, node }),
    liveNodes: () => liveNodes(database),
    setUrl: (node, to) =>
      database.write(async (sql) => void (await sql.run('UPDATE nodes SET url = $2 WHERE n = $1', node, to))),
    setDraining: (node) =>
      database.write(async (sql) => void (await sql.run('UPDATE nodes SET draining_at = now() WHERE n = $1', node))),
  }
}
