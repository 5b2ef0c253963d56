import { expect, test } from 'vitest'
import { recordFacts } from './facts.ts'
import { pending } from './pending.ts'
import { account, citationsIn } from './requirements/citations.ts'
import { requirements } from './requirements.ts'
import { readSource, sourceFiles } from './source-files.ts'

test('every requirement is cited by a test or listed as pending', () => {
  const cited = sourceFiles('packages/**/*.test.ts', 'test/**/*.test.ts').flatMap((file) =>
    citationsIn(file, readSource(file)),
  )
  const missing = Object.values(pending).flat()
  const { faults, ...figures } = account(
    requirements.map(({ id }) => id),
    cited,
    missing,
  )
  recordFacts('requirements', figures)
  console.log(`requirements: covered ${figures.covered} / pending ${figures.pending} / total ${figures.total}`)
  expect(faults).toEqual([])
})

test('every requirement has a text and an id with a known prefix', () => {
  const unclear = requirements.filter(({ id, text }) => !/^(seed|design)(\.[\w-]+)+$/.test(id) || text.length < 10)
  expect(unclear).toEqual([])
})
