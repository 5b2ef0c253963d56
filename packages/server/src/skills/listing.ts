/** Skills outside of conversations: the user's own, and those of a directory that a client asks about. */
import type { Skill, SkillsRequest } from '@parley/protocol'
import type { Log } from '../observability/index.ts'
import { DEFAULT_USER } from '../settings/index.ts'
import type { Hosts } from '../workspace/index.ts'
import { catalogue } from './catalogue.ts'
import { projectSkills, userSkills, type FoundSkills } from './discover.ts'
import { OWN_FILES } from './home.ts'

const NOTHING: FoundSkills = { skills: [], notes: [] }

/** Skills in the home folder of the server's account; none for users other than the owner of that account. */
export async function skillsOfUser(home: string, user: string, signal: AbortSignal): Promise<FoundSkills> {
  return user === DEFAULT_USER ? userSkills(OWN_FILES, home, signal) : NOTHING
}

/** Names of the skills that a user has in every workspace. */
export const skillNamesOf = (home: string) => async (user: string, signal: AbortSignal) =>
  (await skillsOfUser(home, user, signal)).skills.map(({ name }) => name)

export type SkillListingDeps = {
  hosts: Pick<Hosts, 'of' | 'roots'>
  /** Home folder of the account that the server runs under. */
  home: string
  log: Pick<Log, 'info'>
}

export type SkillListing = {
  skills: Skill[]
  sources: Record<'public' | 'user' | 'project' | 'org' | 'sandbox', number>
}

/** Lists the skills of a directory of this machine and of a user, without a conversation. */
export function openSkillListing({ hosts, home, log }: SkillListingDeps) {
  return async (
    user: string,
    { load_user, load_project, project_dir }: SkillsRequest,
    signal: AbortSignal,
  ): Promise<SkillListing> => {
    const host = await hosts.of(user)
    const own = load_user ? await skillsOfUser(home, user, signal) : NOTHING
    const isAsked = load_project && project_dir !== null && project_dir !== ''
    const directory = isAsked ? await hosts.roots(user).directory(project_dir, ['project_dir'], host.workingDir) : null
    const project = directory === null ? NOTHING : await projectSkills(host, directory, signal)
    const notes = [...own.notes, ...project.notes]
    if (notes.length > 0) log.info({ directory: project_dir, notes: notes.slice(0, 50) }, 'parts of skills left out')
    const { skills } = catalogue({ request: [], user: own.skills, project: project.skills, plugin: [] }, [])
    const sources = { public: 0, user: own.skills.length, project: project.skills.length, org: 0, sandbox: 0 }
    return { skills, sources }
  }
}
