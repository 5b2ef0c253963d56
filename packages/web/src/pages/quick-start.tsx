/** The composer of the home page: a task, and the conversation starts with the defaults. */
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useSettings } from '../api/queries.ts'
import { keepDraft, readDraft } from '../lib/draft.ts'
import { DEFAULT_POLICY, policyOfSettings } from '../lib/policy.ts'
import { useCreation } from '../lib/use-creation.ts'
import { takeWriteNext } from '../lib/write-next.ts'
import { ROUTES } from '../routes.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Failure } from '../ui/listing.tsx'
import { en } from '../words/en.ts'

const DEFAULTS = { place: { kind: 'empty' }, agentProfile: null, modelProfile: null, policy: null } as const

export function QuickStart() {
  const [task, setTask] = useState(readDraft)
  const creation = useCreation()
  const settings = useSettings().data
  const { when } = settings === undefined ? DEFAULT_POLICY : policyOfSettings(settings)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (takeWriteNext()) field.current?.focus()
  }, [])
  const start = (): void => {
    if (task.trim() !== '' && !creation.isPending) creation.mutate({ ...DEFAULTS, task })
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    start()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter that ends the composition of a character sends nothing.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    start()
  }
  return (
    <form className="quick" onSubmit={submit}>
      <div className="quick-box">
        <textarea
          ref={field}
          aria-label={en.home.task}
          placeholder={en.home.placeholder}
          value={task}
          rows={2}
          onChange={(event) => {
            setTask(event.target.value)
            keepDraft(event.target.value)
          }}
          onKeyDown={onKeyDown}
        />
        <div className="quick-foot">
          <span className="quick-where">{en.home.where[when]}</span>
          <ButtonLink href={ROUTES.create} look="quiet" size="small">
            {en.home.change}
          </ButtonLink>
          <Button look="primary" size="small" type="submit" disabled={task.trim() === '' || creation.isPending}>
            {creation.isPending ? en.home.starting : en.home.start}
          </Button>
        </div>
      </div>
      {creation.isError && <Failure error={creation.error} onRetry={start} />}
    </form>
  )
}
