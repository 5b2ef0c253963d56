/** The coordination of the only node of a store: it owns everything and leads everything. */
import type { NodeDetails, Storage } from '../storage/index.ts'
import type { Coordination } from './coordination.ts'

export type LocalCoordinationDeps = {
  storage: Pick<Storage, 'nodes' | 'conversations'>
  self: NodeDetails
  now: () => Date
}

/** Takes a number for this run of the process. */
export async function openLocalCoordination({ storage, self, now }: LocalCoordinationDeps): Promise<Coordination> {
  const node = await storage.nodes.reserve()
  const startedAt = now().toISOString()
  let { url } = self
  let drainingAt: string | null = null
  const nothing: Disposable = { [Symbol.dispose]: () => undefined }
  const owner = async (id: Parameters<Coordination['claim']>[0]) =>
    (await storage.conversations.get(id)) === null ? ({ kind: 'unknown' } as const) : ({ kind: 'here' } as const)
  return {
    node,
    place: null,
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
    async listensAt(listening) {
      if (url === '') url = listening
    },
    nodes: async () => [{ ...self, url, n: node, startedAt, drainingAt }],
    async drain() {
      drainingAt ??= now().toISOString()
    },
    // The next process of this data directory continues with the conversations of the node before it.
    release: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}
