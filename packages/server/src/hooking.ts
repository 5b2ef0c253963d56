/** Joins hooks to conversations: they run in the workspace, and get none of the credentials that the agent's commands get. */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { HookConfig } from '@parley/protocol'
import { remoteOf, type OpenHooks } from './conversation/index.ts'
import { loadProjectHooks, openHooks } from './hooks/index.ts'
import { fullMatch } from './security/index.ts'
import type { Hosts, Workspaces } from './workspace/index.ts'

export type HookingDeps = {
  workspaces: Workspaces
  /** Patterns of projects whose own hooks count. */
  trusted: readonly string[]
  log: { warn(fields: object, message: string): void }
}

export function openHooking({ workspaces, trusted, log }: HookingDeps): OpenHooks {
  return async ({ id, record, epoch }, signal) => {
    const { working_dir } = record.workspace
    const remote = remoteOf(record.workspace)
    const workspace = await workspaces.open({ conversationId: id, workingDir: working_dir, epoch, remote }, signal)
    const hooks = openHooks({ conversationId: id, workspace, fullMatch, log })
    const slug = record.repository?.slug ?? null
    return {
      ...hooks,
      project: (asked) =>
        loadProjectHooks(workspace, { directory: '.', names: slug === null ? [] : [slug] }, trusted, asked),
      async [Symbol.asyncDispose]() {
        await hooks[Symbol.asyncDispose]()
        await workspace[Symbol.asyncDispose]()
      },
    }
  }
}

/** The hooks of a directory of this machine, known by its real path: a link never makes it another, trusted one. */
export function openHooksOf({
  hosts,
  trusted,
  log,
}: Pick<HookingDeps, 'trusted'> & { hosts: Hosts; log: { info(fields: object, message: string): void } }) {
  return async (user: string, directory: string, signal: AbortSignal): Promise<HookConfig | null> => {
    const host = await hosts.of(user)
    const path = await realpath(resolve(host.workingDir, directory)).catch(() => null)
    if (path === null) return null
    const { config, detail } = await loadProjectHooks(host, { directory: path, names: [path] }, trusted, signal)
    if (detail !== null) log.info({ directory: path }, detail)
    return config
  }
}
