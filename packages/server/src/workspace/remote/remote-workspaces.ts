/** Opens workspaces on this machine and on other agent servers. */
import type { Log } from '../../observability/index.ts'
import { isAbsolute, join } from 'node:path'
import { invalidInput, type RemoteWorkspace as RemotePlace } from '@parley/protocol'
import type { Egress } from '../../egress/index.ts'
import type { OpenCallNotes } from '../call-notes.ts'
import type { CallProof } from '../call-proof.ts'
import { EPOCHS_PER_START } from '../runner/ipc/protocol.ts'
import type { LedgerEntry, Workspaces, WorkspaceSpec } from '../workspace.ts'
import { RemoteLink } from './link.ts'
import { Notes } from './notes.ts'
import { RemoteWorkspace } from './remote-workspace.ts'

/** `storeEpoch`: the epoch under which the owner writes to the store. */
type RemoteSpec = Omit<WorkspaceSpec, 'owner'> & { remote: RemotePlace; storeEpoch: number }

export type EveryWorkspacesOptions = {
  local: Workspaces
  /** Version 0.1.0 kept the calls of a remote workspace in `<dataDir>/conversations/<id>`. */
  dataDir: string
  notes: OpenCallNotes
  /** Absent: a call without a record counts as never begun, and epochs are those of the store. */
  proof?: Pick<CallProof, 'start' | 'proven'>
  /** True when servers with other data directories work on the same conversations. */
  isShared: boolean
  egress: Pick<Egress, 'agents'>
  log: Pick<Log, 'warn'>
}

/**
 * What precedes the epoch of a store that several servers share. Their starts are not comparable, so it is the same for all of them, and above
 * that of every single server, whose conversations may have moved into a shared store.
 */
const SHARED_EPOCHS = 2 ** 20 * EPOCHS_PER_START

/** Contacts no other server before the first request. Disposal closes the connections and the local workspaces. */
export function openEveryWorkspace({
  local,
  dataDir,
  notes,
  proof,
  isShared,
  egress,
  log,
}: EveryWorkspacesOptions): Workspaces {
  const localBase = (proof?.start ?? 0) * EPOCHS_PER_START
  const remoteBase = isShared ? SHARED_EPOCHS : localBase
  const links = new Map<string, { link: RemoteLink; users: number }>()

  /** One pool of connections per conversation, which all its open workspaces share. */
  function linkOf(id: string, remote: RemotePlace): { link: RemoteLink; release: () => void } {
    const { host, api_key, read_timeout, max_connections } = remote
    const key = JSON.stringify([id, host, api_key, read_timeout, max_connections])
    const shared = links.get(key) ?? { link: new RemoteLink(remote, egress), users: 0 }
    links.set(key, shared)
    shared.users += 1
    let isHeld = true
    return {
      link: shared.link,
      release: () => {
        if (isHeld) shared.users -= 1
        isHeld = false
        if (shared.users > 0) return
        links.delete(key)
        shared.link[Symbol.dispose]()
      },
    }
  }

  function open({ remote, storeEpoch, ...spec }: RemoteSpec): RemoteWorkspace {
    const { conversationId: id, workingDir } = spec
    if (!isAbsolute(workingDir))
      throw invalidInput('working_dir of a RemoteWorkspace has to be absolute', ['workspace', 'working_dir'])
    const { link, release } = linkOf(id, remote)
    const oldFile = join(dataDir, 'conversations', id, 'remote', 'calls.ndjson')
    const sent = new Notes(notes({ id, epoch: storeEpoch }), oldFile)
    const proven = async (entries: Record<string, LedgerEntry>) => (await proof?.proven(id, entries)) ?? entries
    return new RemoteWorkspace({ ...spec, apiKey: remote.api_key, notes: sent, proven }, link, release)
  }

  return {
    ...(local.checkpoints === undefined ? {} : { checkpoints: local.checkpoints }),

    async open({ remote = null, ...given }, signal) {
      if (remote === null) return local.open({ ...given, epoch: localBase + given.epoch }, signal)
      signal.throwIfAborted()
      return open({ ...given, epoch: remoteBase + given.epoch, remote, storeEpoch: given.epoch })
    },

    forget: (id, calls) => local.forget?.(id, calls),

    async release(id, remote = null) {
      await local.release(id)
      if (remote === null) return
      await using workspace = open({
        conversationId: id,
        workingDir: remote.working_dir,
        epoch: 0,
        storeEpoch: 0,
        remote,
      })
      await workspace.release().catch((error: unknown) => {
        // A conversation can end although its workspace cannot be reached; its processes then stay on the other server.
        log.warn({ conversation_id: id, err: error }, 'processes of a remote workspace not ended')
      })
    },

    async [Symbol.asyncDispose]() {
      for (const { link } of links.values()) link[Symbol.dispose]()
      links.clear()
      await local[Symbol.asyncDispose]()
    },
  }
}
