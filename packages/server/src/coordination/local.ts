/** The coordination of the only node of a store: it owns everything and leads everything. */
import type { Storage } from '../storage/index.ts'
import type { Coordination, LiveNode } from './coordination.ts'

export type LocalCoordinationDeps = {
  storage: Pick<Storage, 'nodes' | 'conversations'>
  /** What other nodes would see of this one. */
  self: Omit<LiveNode, 'n' | 'startedAt' | 'drainingAt'>
  now: () => Date
}

/** Takes a number for this run of the process. */
export async function openLocalCoordination({ storage, self, now }: LocalCoordinationDeps): Promise<Coordination> {
  const node = await storage.nodes.add()
  const startedAt = now().toISOString()
  let drainingAt: string | null = null
  const nothing: Disposable = { [Symbol.dispose]: () => undefined }
  const owner = async (id: Parameters<Coordination['claim']>[0]) =>
    (await storage.conversations.get(id)) === null ? ({ kind: 'unknown' } as const) : ({ kind: 'here' } as const)
  return {
    node,
    isShared: false,
    confirm: async (signal) => signal.throwIfAborted(),
    claim: owner,
    ownerOf: owner,
    claimOrphans: async (limit) => (drainingAt === null ? storage.conversations.orphans(node, limit) : []),
    onOrphans(listener) {
      listener()
      return nothing
    },
    onReturn: () => nothing,
    tell: () => undefined,
    on: () => nothing,
    lead(_name, work) {
      const ending = new AbortController()
      const running = work(ending.signal)
      return {
        async [Symbol.asyncDispose]() {
          ending.abort()
          await running
        },
      }
    },
    nodes: async () => [{ ...self, n: node, startedAt, drainingAt }],
    async drain() {
      drainingAt ??= now().toISOString()
    },
    // The next process of this data directory continues with the conversations of the node before it.
    release: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}
