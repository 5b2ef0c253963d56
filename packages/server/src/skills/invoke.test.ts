import { Skill } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { Workspace } from '../workspace/index.ts'
import { invokeSkill } from './invoke.ts'

const invoke = (skill: object) => {
  const skills = [
    Skill.parse({ name: 'release', content: 'Run scripts/tag.sh.', is_agentskills_format: true, ...skill }),
  ]
  const workspace = { workingDir: '/project' } as Workspace
  return invokeSkill({ skills, isTrusted: () => true }, 'release', {
    callId: 'a1',
    workspace,
    signal: new AbortController().signal,
  })
}

test.each([
  ['in the workspace', '/project/.agents/skills/release/SKILL.md', '.agents/skills/release'],
  ['elsewhere', '/srv/skills/release/SKILL.md', '/srv/skills/release'],
])('the text of a skill that names only its file %s names its folder', async (_, source, folder) => {
  expect((await invoke({ source })).text).toContain(`[The folder of the skill release is ${folder}.]`)
})

test.each(['/project/AGENTS.md', 'github:acme/skills', 'skills/SKILL.md', null])(
  'the text of a skill with the source %s names no folder',
  async (source) => {
    expect((await invoke({ source })).text).toBe('Run scripts/tag.sh.')
  },
)
