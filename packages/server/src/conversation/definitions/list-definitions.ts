/** Sub-agents outside of conversations: those of a directory that a client asks about, of the user, and the built-in ones. */
import type { AgentDefinition, SubAgentsRequest } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import { DEFAULT_USER } from '../../settings/index.ts'
import { Folder, OWN_FILES } from '../../skills/index.ts'
import { builtInTypes } from '../../tools/index.ts'
import { isTrusted, type Hosts } from '../../workspace/index.ts'
import { definitionsIn } from './definition-file.ts'
import { harmless } from './find-definitions.ts'

export type DefinitionListingDeps = {
  hosts: Pick<Hosts, 'of' | 'roots'>
  /** Home folder of the account that the server runs under. */
  home: string
  /** Patterns of projects whose own commands count. */
  trusted: readonly string[]
  log: Pick<Log, 'info'>
}

/** Lists definitions in order of precedence, with the rules of a conversation in that directory (D1, D2). */
export function openDefinitionListing({ hosts, home, trusted, log }: DefinitionListingDeps) {
  return async (
    user: string,
    { load_user, load_project, load_builtin, project_dir }: SubAgentsRequest,
    signal: AbortSignal,
  ): Promise<AgentDefinition[]> => {
    const host = await hosts.of(user)
    const isAsked = load_project && project_dir !== null && project_dir !== ''
    const directory = isAsked ? await hosts.roots(user).directory(project_dir, ['project_dir'], host.workingDir) : null
    const project = directory === null ? null : await Folder.open(host, directory, signal)
    const own =
      load_user && user === DEFAULT_USER ? await Folder.open(OWN_FILES, home, signal, { isConfined: false }) : null
    const found = project === null ? [] : await definitionsIn(project, 'project')
    const isKnown = directory !== null && isTrusted(directory, trusted)
    const all = [
      ...(isKnown ? found : found.map(harmless)),
      ...(own === null ? [] : await definitionsIn(own, 'user')),
      ...(load_builtin ? builtInTypes() : []),
    ]
    const notes = [...(project?.notes ?? []), ...(own?.notes ?? [])]
    if (notes.length > 0) log.info({ directory, notes: notes.slice(0, 50) }, 'sub-agent definitions left out')
    const first = new Map<string, AgentDefinition>()
    for (const definition of all) if (!first.has(definition.name)) first.set(definition.name, definition)
    return [...first.values()]
  }
}
