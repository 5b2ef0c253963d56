/**
 * Plugins, and skills without a plugin, that a user has installed for all conversations.
 *
 * Invariants
 *   N1. An installation stores the source and its commit, and no content: each conversation fetches that commit to where it works, with
 *       the rules of a plugin in its request.
 *   N2. A plugin that cannot be used in a conversation is left out of it; no installation makes starts fail.
 */
import { basename } from 'node:path'
import { InstalledPlugin, type InstallPluginRequest, isRecord, ParleyError, type PluginSource } from '@parley/protocol'
import { Folder, placeOfPlugin, readPlugin, readSkill } from '../../skills/index.ts'
import type { DocumentEdit, DocumentRow, DocumentStore } from '../../storage/index.ts'
import { GitFailure, type Hosts } from '../../workspace/index.ts'
import { fetchedPlugin, type PluginDeps } from './phases/plugins.ts'
import { StartFailure } from './phases/phase.ts'

export interface InstalledPlugins {
  /** By name. */
  list(user: string): Promise<InstalledPlugin[]>
  /** @throws ParleyError `not_found`. */
  get(user: string, name: string): Promise<InstalledPlugin>
  /**
   * @throws ParleyError `invalid_input` for a source that is never fetched, `bad_request` for one that is no plugin, `conflict` for a name
   * that is taken, and beyond the limit
   */
  install(user: string, request: InstallPluginRequest, signal: AbortSignal): Promise<InstalledPlugin>
  /** Reads the source again. @throws ParleyError as `get` and `install` */
  refresh(user: string, name: string, signal: AbortSignal): Promise<InstalledPlugin>
  /** @throws ParleyError `not_found`. */
  enable(user: string, name: string, enabled: boolean): Promise<void>
  /** @throws ParleyError `not_found`. */
  uninstall(user: string, name: string): Promise<void>
  /** The sources for a start, each with its commit. */
  ofStart(user: string): Promise<(PluginSource & { is_skill?: true })[]>
}

export type InstalledPluginDeps = Omit<PluginDeps, 'workspace'> & {
  documents: DocumentStore
  /** Where sources are fetched and read: with the rights of the user's own commands. */
  machine: Pick<Hosts, 'of' | 'roots'>
  now: () => Date
}

/** Collection of the documents, and the word for people. */
const KINDS = {
  plugin: { collection: 'installed_plugins', word: 'plugin' },
  skill: { collection: 'installed_skills', word: 'skill' },
} as const
type Kind = keyof typeof KINDS
/** Of each kind. */
const MAX_INSTALLED = 50
const MAX_FILES = 200
const MAX_DEPTH = 6

/** The branch or tag of the installation, which a refresh reads again. */
type Entry = { plugin: InstalledPlugin; ref: string | null }

export function openInstalled(kind: Kind, deps: InstalledPluginDeps): InstalledPlugins {
  const { documents } = deps
  const { collection, word } = KINDS[kind]
  const unknown = (name: string) => new ParleyError('not_found', `The ${word} '${name}' is not installed.`)
  const write = (edit: DocumentEdit, entry: Entry): void =>
    edit.put(collection, entry.plugin.name, JSON.stringify(entry))

  async function entryOf(user: string, name: string): Promise<Entry> {
    const row = await documents.get(user, collection, name)
    if (row === null) throw unknown(name)
    return read(row)
  }
  const entries = async (user: string) => (await documents.list(user, collection)).map(read)

  async function install(user: string, request: InstallPluginRequest, signal: AbortSignal) {
    const plugin = await readSource(kind, deps, user, request, signal)
    return documents.edit(user, (edit) => {
      const before = edit.get(collection, plugin.name)
      if (before !== null && !request.force)
        throw new ParleyError(
          'conflict',
          `The ${word} '${plugin.name}' is installed. Uninstall it first, or use force.`,
        )
      if (before === null && edit.list(collection).length >= MAX_INSTALLED)
        throw new ParleyError(
          'conflict',
          `${MAX_INSTALLED} ${word}s are installed, which is the limit. Uninstall one first.`,
        )
      write(edit, { plugin, ref: request.ref })
      return plugin
    })
  }

  return {
    list: async (user) => (await entries(user)).map(({ plugin }) => plugin),
    get: async (user, name) => (await entryOf(user, name)).plugin,
    install,

    async refresh(user, name, signal) {
      const { plugin, ref } = await entryOf(user, name)
      const { source, repo_path } = plugin
      const fresh = await readSource(kind, deps, user, { source, ref, repo_path }, signal)
      if (fresh.name !== name)
        throw new ParleyError('conflict', `The source now has the ${word} '${fresh.name}'. Install it under that name.`)
      return documents.edit(user, (edit) => {
        const row = edit.get(collection, name)
        if (row === null) throw unknown(name)
        const { enabled, installed_at } = read(row).plugin
        const refreshed = { ...fresh, enabled, installed_at }
        write(edit, { plugin: refreshed, ref })
        return refreshed
      })
    },

    enable: (user, name, enabled) =>
      documents.edit(user, (edit) => {
        const row = edit.get(collection, name)
        if (row === null) throw unknown(name)
        const { plugin, ref } = read(row)
        write(edit, { plugin: { ...plugin, enabled }, ref })
      }),

    uninstall: (user, name) =>
      documents.edit(user, (edit) => {
        if (!edit.delete(collection, name)) throw unknown(name)
      }),

    async ofStart(user) {
      const enabled = (await entries(user)).filter(({ plugin }) => plugin.enabled)
      return enabled.map(({ plugin: { source, resolved_ref: ref, repo_path } }) => ({
        source,
        ref,
        repo_path,
        ...(kind === 'skill' && { is_skill: true as const }),
      }))
    },
  }
}

const read = ({ json }: DocumentRow): Entry => {
  const value: unknown = JSON.parse(json)
  const { plugin, ref } = isRecord(value) ? value : {}
  return { plugin: InstalledPlugin.parse(plugin), ref: typeof ref === 'string' ? ref : null }
}

async function readSource(
  kind: Kind,
  deps: InstalledPluginDeps,
  user: string,
  given: PluginSource,
  signal: AbortSignal,
): Promise<InstalledPlugin> {
  const { machine, now, hosts, providerToken, pluginsDir } = deps
  const workspace = await machine.of(user)
  const place = placeOfPlugin(given, [])
  try {
    const clone =
      place.kind === 'git'
        ? await fetchedPlugin({ workspace, hosts, providerToken, pluginsDir }, user, place, signal)
        : null
    const path =
      clone?.path ??
      (await machine.roots(user).directory(place.kind === 'path' ? place.path : '', ['source'], workspace.workingDir))
    const of = { path, below: place.folder, called: clone?.name ?? basename(path) }
    const found = kind === 'skill' ? await oneSkill(workspace, of, signal) : await readPlugin(workspace, of, signal)
    const { name, version, description, root, skills } = found
    return {
      name,
      version,
      description,
      enabled: true,
      source: place.kind === 'path' ? path : given.source.trim(),
      resolved_ref: clone?.commit ?? null,
      repo_path: given.repo_path,
      installed_at: now().toISOString(),
      install_path: root,
      skills: skills.map((skill) => ({ name: skill.name, description: skill.description })),
      files: await filesIn(workspace, root, signal),
    }
  } catch (error) {
    throw asRefusal(error, given.source)
  }
}

async function oneSkill(...of: Parameters<typeof readSkill>) {
  const { skill, root } = await readSkill(...of)
  const { name, version, description } = skill
  return { name, version, description: description ?? '', root, skills: [skill] }
}

/** A source that cannot be read is the caller's choice, whatever part of it failed. */
function asRefusal(error: unknown, source: string): unknown {
  const isUnusable =
    error instanceof GitFailure ||
    error instanceof StartFailure ||
    (error instanceof ParleyError && error.code === 'not_found') ||
    (error instanceof ParleyError && error.code === 'invalid_input' && !('at' in error && (error.at as []).length > 0))
  if (!isUnusable) return error
  return new ParleyError('bad_request', `${source} cannot be installed: ${(error as Error).message}`, { cause: error })
}

async function filesIn(files: Parameters<typeof Folder.open>[0], root: string, signal: AbortSignal): Promise<string[]> {
  const folder = await Folder.open(files, root, signal)
  const found: string[] = []
  const look = async (path: string, depth: number): Promise<void> => {
    for (const { name, kind } of (await folder?.list(path)) ?? []) {
      if (found.length >= MAX_FILES) return
      const at = path === '' ? name : `${path}/${name}`
      if (kind === 'file') found.push(at)
      if (kind === 'directory' && name !== '.git' && depth < MAX_DEPTH) await look(at, depth + 1)
    }
  }
  await look('', 0)
  return found
}
