/** Starts that wait for the outside world hold no place among the runs. */
import { expect, test } from 'vitest'
import { finish, serveAnn } from '../../packages/server/testing/conversation-starts.ts'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

test('a conversation runs while the start of another one waits for a clone, also with a single run slot', async () => {
  await using git = await startGitServer()
  await git.add('acme/shop')
  git.mode = 'silent'
  await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
  await using dir = await tempDir()
  await using ann = await serveAnn(dir.file('data'), { git, model }, { PARLEY_MAX_CONCURRENT_RUNS: '1' })

  const waiting = { repository: 'acme/shop', git_provider: 'git_host_2', initial_user_msg: 'go' }
  const slow = await ann.create(waiting)
  await until(() => git.requests.length > 0)

  const other = await ann.create({ initial_user_msg: 'go' })
  await ann.progressWhen(other, ({ execution_status }) => execution_status === 'finished')
  expect(await ann.progress(slow)).toMatchObject({ status: 'STARTING', phase: 'repository' })
})
