/** Skills of a workspace on another agent server, which are read there and stored here. */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { KEY, startTestServer } from '../../packages/server/testing/server.ts'
import { messagesOf, openWorld } from '../../packages/server/testing/skill-conversations.ts'
import { ofKind } from '../../packages/server/testing/restartable-server.ts'

test('skills of a remote workspace are read on its server, and its path rules are added with its files', async () => {
  await using there = await startTestServer()
  await using world = await openWorld()
  const at = there.dir.file('project')
  await mkdir(`${at}/.agents/skills/release`, { recursive: true })
  await mkdir(`${at}/web`, { recursive: true })
  await writeFile(`${at}/AGENTS.md`, 'Indent with tabs.')
  await symlink('AGENTS.md', `${at}/CLAUDE.md`)
  await symlink('/etc/hostname', `${at}/GEMINI.md`)
  await writeFile(`${at}/web/AGENTS.md`, 'Only functions.')
  await writeFile(`${at}/web/a.ts`, 'a')
  await writeFile(`${at}/.agents/skills/release/SKILL.md`, '---\ntriggers: [release]\n---\nTag first.')
  const look = `call file_editor ${JSON.stringify({ command: 'view', path: `${at}/web/a.ts` })}`
  const id = await world.talk('unused', `a release\n${look}`, {
    workspace: { kind: 'RemoteWorkspace', host: there.url, api_key: KEY, working_dir: at },
    agent: { agent_context: { load_project_skills: true } },
  })
  const events = await world.events(id)
  expect(ofKind(events, 'SystemPromptEvent')[0].dynamic_context.text).toContain('Indent with tabs.')
  expect(messagesOf(events)[0].activated_skills).toEqual(['release'])
  expect(ofKind(events, 'ObservationEvent')[0].extended_content[0].text).toContain('Only functions.')
  const { body } = await world.call('GET', `/api/conversations/${id}?include_skills=true`)
  const names = body.agent.agent_context.skills.map(({ name }: { name: string }) => name)
  expect(names).toEqual(['agents', 'agents:web', 'release'])
})
