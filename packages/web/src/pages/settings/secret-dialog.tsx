/** The form of a secret: a new one, several from pasted lines, or a change of one. */
import { useQueryClient } from '@tanstack/react-query'
import { type ClipboardEvent, type FormEvent, useState } from 'react'
import { changeSecret, createSecret, type Secret, SECRETS_KEY } from '../../api/secrets.ts'
import { type Refusal, refusalOf } from '../../lib/refusal.ts'
import { type SecretLine, secretLines } from '../../lib/secret-lines.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { secrets as words } from '../../words/secrets.en.ts'
import { SecretLines } from './secret-lines.tsx'

type SecretDialogProps = {
  /** Null: a new secret. */
  readonly before: Secret | null
  readonly onClose: () => void
  readonly onDone: (note: string) => void
}

const FIELDS = ['name', 'value', 'description'] as const
type Errors = Refusal<(typeof FIELDS)[number]>
const NO_ERRORS: Errors = { fields: {}, problem: '' }
const PLAIN = { spellCheck: false, autoCapitalize: 'none', autoComplete: 'off' } as const

export function SecretDialog({ before, onClose, onDone }: SecretDialogProps) {
  const [lines, setLines] = useState<readonly SecretLine[] | null>(null)
  return (
    <Dialog title={before === null ? words.add : words.editOf(before.name)} onClose={onClose}>
      {lines === null ? (
        <SecretForm before={before} onClose={onClose} onDone={onDone} onLines={setLines} />
      ) : (
        <SecretLines lines={lines} onBack={() => setLines(null)} onDone={onDone} />
      )}
    </Dialog>
  )
}

function SecretForm({
  before,
  onClose,
  onDone,
  onLines,
}: SecretDialogProps & { onLines: (lines: readonly SecretLine[]) => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(before?.name ?? '')
  const [value, setValue] = useState('')
  const [description, setDescription] = useState(before?.description ?? '')
  const [errors, setErrors] = useState(NO_ERRORS)
  const [isBusy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    const secret = { name: name.trim(), description: description.trim() || null }
    const lacks = lackOf(secret.name, before !== null || value !== '')
    setErrors(lacks)
    if (Object.keys(lacks.fields).length > 0 || isBusy) return
    setBusy(true)
    try {
      const warning =
        before === null
          ? await createSecret({ ...secret, value })
          : (await changeSecret(before.name, secret, value === '' ? null : value), null)
      onDone(warning === null ? words.stored(secret.name) : `${words.stored(secret.name)}. ${warning}`)
    } catch (error) {
      setErrors(refusalOf(error, FIELDS))
      setBusy(false)
    }
    await client.invalidateQueries({ queryKey: SECRETS_KEY })
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void save()
  }
  const paste = (event: ClipboardEvent): void => {
    const found = before === null && value === '' ? secretLines(event.clipboardData.getData('text')) : null
    const [first, ...others] = found ?? []
    if (found === null || first === undefined || (others.length === 0 && name !== '')) return
    event.preventDefault()
    if (others.length > 0) return onLines(found)
    setName(first.name)
    setValue(first.value)
  }
  return (
    <form className="dialog-form" onSubmit={submit} noValidate>
      <Field label={words.name} hint={words.nameHint} error={errors.fields.name}>
        {(control) => (
          <input
            {...control}
            {...PLAIN}
            className="input item-code"
            value={name}
            placeholder={words.namePlaceholder}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field
        label={before === null ? words.value : words.newValue}
        hint={before === null ? words.valueHint : words.newValueHint}
        error={errors.fields.value}
      >
        {(control) => (
          <textarea
            {...control}
            {...PLAIN}
            className="input secret-value is-hidden"
            rows={1}
            value={value}
            onPaste={paste}
            onChange={(event) => setValue(event.target.value)}
          />
        )}
      </Field>
      <Field label={words.description} hint={words.descriptionHint} error={errors.fields.description}>
        {(control) => (
          <input
            {...control}
            autoComplete="off"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </Field>
      {errors.problem !== '' && (
        <p className="dialog-problem" role="alert">
          {errors.problem}
        </p>
      )}
      <div className="dialog-foot">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button look="primary" type="submit" disabled={isBusy}>
          {isBusy ? words.saving : words.save}
        </Button>
      </div>
    </form>
  )
}

const lackOf = (name: string, hasValue: boolean): Errors => ({
  fields: {
    ...(name === '' && { name: words.needs.name }),
    ...(!hasValue && { value: words.needs.value }),
  },
  problem: '',
})
