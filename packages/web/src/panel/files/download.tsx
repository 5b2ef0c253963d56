/** A button that saves a file of the workspace. */
import { useState } from 'react'
import { messageOf } from '../../api/server.ts'
import { Button } from '../../ui/button.tsx'
import { files as words } from '../../words/files.en.ts'
import { download } from './content.ts'

export function Download({ id, path }: { id: string; path: string }) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const save = async () => {
    setBusy(true)
    setProblem('')
    await download(id, path).catch((error: unknown) => setProblem(messageOf(error)))
    setBusy(false)
  }
  return (
    <>
      <Button size="small" disabled={isBusy} onClick={() => void save()}>
        {isBusy ? words.downloading : words.download}
      </Button>
      {problem !== '' && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
    </>
  )
}
