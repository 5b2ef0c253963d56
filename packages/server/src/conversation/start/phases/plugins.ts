/** Plugins of conversations: fetched into the workspace's machine, and read there. */
import { basename, join } from 'node:path'
import { ParleyError, type AgentDefinition, type HookConfig, type MCPServers, type Skill } from '@parley/protocol'
import { mergeHooks } from '../../../hooks/index.ts'
import { placeOfPlugin, readPlugin, readSkill, type Plugin, type PluginPlace } from '../../../skills/index.ts'
import {
  fetchFolder,
  findRemote,
  GitFailure,
  type GitHost,
  type GitHosts,
  type GitToken,
  type Workspace,
} from '../../../workspace/index.ts'
import type { AttachedPlugin, ConversationRecord } from '../../record/record.ts'
import { readDefinition } from '../../definitions/definition-file.ts'
import { StartFailure } from './phase.ts'

/** Code of a start that failed because of a plugin. */
const UNUSABLE = 'PLUGIN$UNUSABLE'

export type PluginDeps = {
  workspace: Workspace
  hosts: GitHosts
  /** Returns the token that a user has stored for a provider; null when there is none. */
  providerToken: (user: string, host: GitHost) => Promise<GitToken | null>
  /** Folder of plugins on this machine. */
  pluginsDir: string
}

type Of = { owner: string; record: ConversationRecord }

/** Contents of all plugins; of two parts with the same name, the one of the later plugin counts. */
export type Attached = {
  plugins: AttachedPlugin[]
  skills: Skill[]
  hooks: HookConfig | null
  mcp: MCPServers
  /** Sub-agents. */
  definitions: AgentDefinition[]
  notes: string[]
}

/** @throws StartFailure, GitFailure: the start fails when a plugin cannot be loaded. */
export async function attachPlugins(deps: PluginDeps, { owner, record }: Of, signal: AbortSignal): Promise<Attached> {
  const all: Attached = { plugins: [], skills: [], hooks: null, mcp: {}, definitions: [], notes: [] }
  for (const [index, source] of (record.plugins ?? []).entries()) {
    try {
      await attach(deps, { owner, all, source, index }, signal)
    } catch (error) {
      signal.throwIfAborted()
      const isRefused = error instanceof StartFailure || error instanceof GitFailure || error instanceof ParleyError
      if (source.is_installed !== true || !isRefused) throw error
      all.notes.push(`installed plugin ${source.source}: ${error.message}`)
    }
  }
  return all
}

type One = { owner: string; all: Attached; source: AttachedPlugin; index: number }

/** Adds the parts of one plugin. */
async function attach(deps: PluginDeps, { owner, all, source, index }: One, signal: AbortSignal): Promise<void> {
  const place = placeOfPlugin(source, ['plugins', index])
  const clone = place.kind === 'git' ? await fetchedPlugin(deps, owner, place, signal) : null
  const path = clone?.path ?? deps.workspace.resolve(place.kind === 'path' ? place.path : '')
  if (clone === null) await deps.workspace.directory?.(path, ['plugins', index, 'source'])
  const of = { path, below: place.folder, called: clone?.name ?? basename(path) }
  if (source.is_skill === true) {
    const { skill, root, notes } = await readSkill(deps.workspace, of, signal)
    all.plugins.push({ ...source, name: skill.name, root, resolved_ref: clone?.commit ?? null })
    all.skills.push(skill)
    all.notes.push(...notes)
    return
  }
  const plugin = await readPlugin(deps.workspace, of, signal).catch((error: unknown) => {
    if (!(error instanceof ParleyError)) throw error
    throw new StartFailure(UNUSABLE, `The plugin ${source.source} cannot be used: ${error.message}.`)
  })
  const { name, root } = plugin
  all.plugins.push({ ...source, name, root, resolved_ref: clone?.commit ?? null })
  all.skills.push(...plugin.skills)
  all.hooks = mergeHooks(all.hooks, plugin.hooks)
  all.mcp = { ...all.mcp, ...plugin.mcp }
  const own = await definitionsOf(plugin)
  all.definitions = [...own, ...all.definitions.filter((each) => !own.some((later) => later.name === each.name))]
  all.notes.push(...plugin.notes)
}

/** An invalid definition is noted and left out. */
async function definitionsOf({ agents, notes }: Plugin): Promise<AgentDefinition[]> {
  const found: AgentDefinition[] = []
  for (const { path, text } of agents) {
    try {
      found.push(await readDefinition(text, path, 'plugin'))
    } catch (error) {
      notes.push(`${path}: ${(error as Error).message}`)
    }
  }
  return found
}

/** Fetches the plugins of a fork that cannot see those of its source: the same commits, to the same paths. */
export async function restorePlugins(deps: PluginDeps, { owner, record }: Of, signal: AbortSignal): Promise<void> {
  for (const [index, plugin] of (record.plugins ?? []).entries()) {
    const place = placeOfPlugin(plugin, ['plugins', index])
    if (place.kind !== 'git' || plugin.root === null) continue
    const stat = await deps.workspace.stat(plugin.root, signal).catch(() => null)
    if (stat === null) await fetchedPlugin(deps, owner, { ...place, ref: plugin.resolved_ref }, signal)
  }
}

type GitPlace = Extract<PluginPlace, { kind: 'git' }>

/** Fetches the repository to a folder that commands of the workspace can read. @throws GitFailure, StartFailure */
export async function fetchedPlugin(deps: PluginDeps, owner: string, place: GitPlace, signal: AbortSignal) {
  const { workspace, hosts, providerToken } = deps
  const remote = await findRemote(place, { hosts, tokenOf: (host) => providerToken(owner, host) })
  const base = await baseOf(deps, signal)
  return { ...(await fetchFolder(workspace, remote, { ref: place.ref, base }, signal)), name: remote.directory }
}

/** A folder that commands of the conversation can read, outside of the working directory. */
async function baseOf({ workspace, pluginsDir }: PluginDeps, signal: AbortSignal): Promise<string> {
  // A workspace on this machine, without a sandbox.
  if (workspace.keepText === undefined) return pluginsDir
  const { exit_code, stdout } = await workspace.exec({ argv: ['bash', '-c', 'printf %s "$HOME"'] }, signal)
  if (exit_code === 0 && stdout.startsWith('/')) return join(stdout, '.parley-plugins')
  throw new StartFailure(
    UNUSABLE,
    'There is no home folder where the conversation works, so no plugin can be kept there.',
  )
}
