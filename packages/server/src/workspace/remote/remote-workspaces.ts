/** Opens workspaces, wherever they are: on this machine, or on another agent server. */
import { isAbsolute, join } from 'node:path'
import { ParleyError, type RemoteWorkspace as RemotePlace } from '@parley/protocol'
import type { Workspaces } from '../workspace.ts'
import { RemoteLink } from './link.ts'
import { RemoteWorkspace } from './remote-workspace.ts'

export type EveryWorkspacesOptions = {
  local: Workspaces
  /** What a conversation's remote workspace remembers is in `<dataDir>/conversations/<id>`. */
  dataDir: string
  log: { warn(fields: object, message: string): void }
}

/** Asks no other server before the first request. Disposing of it closes the connections and the local workspaces. */
export function openEveryWorkspace({ local, dataDir, log }: EveryWorkspacesOptions): Workspaces {
  const links = new Map<string, { link: RemoteLink; users: number }>()

  /** One pool of connections for each conversation, however often its workspace is open. */
  function linkOf(id: string, remote: RemotePlace): { link: RemoteLink; letGo: () => void } {
    const { host, api_key, read_timeout, max_connections } = remote
    const key = JSON.stringify([id, host, api_key, read_timeout, max_connections])
    const shared = links.get(key) ?? { link: new RemoteLink(remote), users: 0 }
    links.set(key, shared)
    shared.users += 1
    let isHeld = true
    return {
      link: shared.link,
      letGo: () => {
        if (isHeld) shared.users -= 1
        isHeld = false
        if (shared.users > 0) return
        links.delete(key)
        shared.link[Symbol.dispose]()
      },
    }
  }

  function open(id: string, workingDir: string, epoch: number, remote: RemotePlace): RemoteWorkspace {
    if (!isAbsolute(workingDir))
      throw new ParleyError('invalid_input', 'working_dir of a RemoteWorkspace has to be absolute', {
        details: { member: 'working_dir' },
      })
    const { link, letGo } = linkOf(id, remote)
    const notesFile = join(dataDir, 'conversations', id, 'remote', 'calls.ndjson')
    const spec = { conversationId: id as never, workingDir, epoch, apiKey: remote.api_key, notesFile }
    return new RemoteWorkspace(spec, link, letGo)
  }

  return {
    async open({ remote = null, ...spec }, signal) {
      if (remote === null) return local.open(spec, signal)
      signal.throwIfAborted()
      return open(spec.conversationId, spec.workingDir, spec.epoch, remote)
    },

    forget: (id, calls) => local.forget?.(id, calls),

    async release(id, remote = null) {
      await local.release(id)
      if (remote === null) return
      await using workspace = open(id, remote.working_dir, 0, remote)
      await workspace.release().catch((error: unknown) => {
        // A conversation can end although its workspace cannot be reached; what is left there is its own server's business.
        log.warn({ conversation_id: id, err: error }, 'processes of a remote workspace could not be ended')
      })
    },

    async [Symbol.asyncDispose]() {
      for (const { link } of links.values()) link[Symbol.dispose]()
      links.clear()
      await local[Symbol.asyncDispose]()
    },
  }
}
