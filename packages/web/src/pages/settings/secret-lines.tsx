/** Several secrets from pasted lines: their names, and one decision. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createSecret, SECRETS_KEY } from '../../api/secrets.ts'
import { messageOf } from '../../api/errors.ts'
import type { SecretLine } from '../../lib/secret-lines.ts'
import { Button } from '../../ui/button.tsx'
import { secrets as words } from '../../words/secrets.en.ts'

type LinesProps = {
  readonly lines: readonly SecretLine[]
  readonly onBack: () => void
  readonly onDone: (note: string) => void
}

export function SecretLines({ lines: pasted, onBack, onDone }: LinesProps) {
  const client = useQueryClient()
  /** Those that are not stored. */
  const [lines, setLines] = useState(pasted)
  const [problems, setProblems] = useState<readonly string[]>([])
  const [isBusy, setBusy] = useState(false)
  const storeAll = async (): Promise<void> => {
    setBusy(true)
    const failed: { line: SecretLine; problem: string }[] = []
    for (const line of lines) {
      await createSecret({ ...line, description: null }).catch((error: unknown) =>
        failed.push({ line, problem: `${line.name}: ${messageOf(error)}` }),
      )
    }
    await client.invalidateQueries({ queryKey: SECRETS_KEY })
    setBusy(false)
    setLines(failed.map(({ line }) => line))
    setProblems(failed.map(({ problem }) => problem))
    if (failed.length === 0) onDone(words.severalStored(pasted.length))
  }
  return (
    <div className="dialog-form">
      <p>{words.several(lines.length)}</p>
      <ul className="secret-lines">
        {lines.map(({ name }, index) => (
          <li key={index} className="item-code">
            {name}
          </li>
        ))}
      </ul>
      <p className="field-hint">{words.severalText}</p>
      {problems.length > 0 && (
        <ul className="dialog-problem" role="alert">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      <div className="dialog-foot">
        <Button onClick={onBack}>{words.back}</Button>
        <Button look="primary" disabled={isBusy} onClick={() => void storeAll()}>
          {isBusy ? words.saving : words.storeAll(lines.length)}
        </Button>
      </div>
    </div>
  )
}
