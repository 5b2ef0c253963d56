/** Joins plugins to conversations: fetches them where the conversation works, and reads what they bring. */
import { basename, join } from 'node:path'
import { ParleyError, type AgentDefinition, type HookConfig, type MCPServers, type Skill } from '@parley/protocol'
import { readDefinition, StartFailure, type AttachedPlugin, type ConversationRecord } from '../conversation/index.ts'
import { mergeHooks } from '../hooks/index.ts'
import { placeOfPlugin, readPlugin, type Plugin, type PluginPlace } from '../skills/index.ts'
import {
  fetchFolder,
  findRemote,
  type GitHost,
  type GitHosts,
  type GitToken,
  type Workspace,
} from '../workspace/index.ts'

/** The code of a start that a plugin ended. */
const UNUSABLE = 'PLUGIN$UNUSABLE'

export type PluginDeps = {
  workspace: Workspace
  hosts: GitHosts
  /** The token that a user has stored for a provider; null when there is none. */
  providerToken: (user: string, host: GitHost) => Promise<GitToken | null>
  /** Where plugins are kept on this machine. */
  pluginsDir: string
}

type Of = { owner: string; record: ConversationRecord }

/** What plugins bring, later ones before earlier ones where both bring the same. */
export type Attached = {
  plugins: AttachedPlugin[]
  skills: Skill[]
  hooks: HookConfig | null
  mcp: MCPServers
  /** Sub-agents. */
  definitions: AgentDefinition[]
  notes: string[]
}

/** @throws StartFailure, GitFailure: who attached a plugin wants it, so a start without it fails. */
export async function attachPlugins(deps: PluginDeps, { owner, record }: Of, signal: AbortSignal): Promise<Attached> {
  const all: Attached = { plugins: [], skills: [], hooks: null, mcp: {}, definitions: [], notes: [] }
  for (const [index, source] of (record.plugins ?? []).entries()) {
    const at = `plugins.${index}`
    const place = placeOfPlugin(source, at)
    const clone = place.kind === 'git' ? await fetched(deps, owner, place, signal) : null
    const path = clone?.path ?? deps.workspace.resolve(place.kind === 'path' ? place.path : '')
    const of = { path, below: place.folder, called: clone?.name ?? basename(path) }
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
  return all
}

/** A bad description is noted and left out. */
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

/** Fetches again what a fork cannot see of its source: the same commits, to the same places. */
export async function restorePlugins(deps: PluginDeps, { owner, record }: Of, signal: AbortSignal): Promise<void> {
  for (const [index, plugin] of (record.plugins ?? []).entries()) {
    const place = placeOfPlugin(plugin, `plugins.${index}`)
    if (place.kind !== 'git' || plugin.root === null) continue
    const stat = await deps.workspace.stat(plugin.root, signal).catch(() => null)
    if (stat === null) await fetched(deps, owner, { ...place, ref: plugin.resolved_ref }, signal)
  }
}

type GitPlace = Extract<PluginPlace, { kind: 'git' }>

async function fetched(deps: PluginDeps, owner: string, place: GitPlace, signal: AbortSignal) {
  const { workspace, hosts, providerToken } = deps
  const remote = await findRemote(place, { hosts, tokenOf: (host) => providerToken(owner, host) })
  const base = await baseOf(deps, signal)
  return { ...(await fetchFolder(workspace, remote, { ref: place.ref, base }, signal)), name: remote.directory }
}

/** Where commands of the conversation can read it, and outside of what they work on. */
async function baseOf({ workspace, pluginsDir }: PluginDeps, signal: AbortSignal): Promise<string> {
  // This machine, without walls around its commands.
  if (workspace.keepText === undefined) return pluginsDir
  const { exit_code, stdout } = await workspace.exec({ argv: ['bash', '-c', 'printf %s "$HOME"'] }, signal)
  if (exit_code === 0 && stdout.startsWith('/')) return join(stdout, '.parley-plugins')
  throw new StartFailure(
    UNUSABLE,
    'There is no home folder where the conversation works, so no plugin can be kept there.',
  )
}
