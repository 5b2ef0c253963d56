/** Sign in with an API key. It is exchanged for a session token and not stored. */
import { type FormEvent, useState } from 'react'
import { messageOf, ServerError, signIn } from '../api/server.ts'
import { staysSignedIn } from '../api/session.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { en } from '../words/en.ts'
import './login.css'

/** The whole window before the first sign-in. `failure` is that of a login link. */
export function LoginPage({ failure }: { failure: unknown }) {
  usePageTitle(en.login.title)
  return (
    <main className="login">
      <div className="login-box">
        <p className="login-name">{en.name}</p>
        <h1>{en.login.title}</h1>
        {failure == null ? <p className="page-lead">{en.login.lead}</p> : <LinkFailure failure={failure} />}
        <LoginForm />
      </div>
    </main>
  )
}

function LinkFailure({ failure }: { failure: unknown }) {
  const isRefused = failure instanceof ServerError && failure.status === 401
  return (
    <div className="login-failure" role="alert">
      <p>{isRefused ? en.login.wrongCode : messageOf(failure)}</p>
      {isRefused && (
        <p>
          {en.login.another} <code>{en.login.command}</code>
        </p>
      )}
    </div>
  )
}

export function LoginForm() {
  const [key, setKey] = useState('')
  const [stays, setStays] = useState(staysSignedIn)
  const [error, setError] = useState<string | null>(null)
  const [isChecking, setChecking] = useState(false)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (key.trim() === '') return setError(en.login.required)
    setChecking(true)
    setError(null)
    try {
      await signIn({ key: key.trim() }, stays)
    } catch (cause) {
      setError(cause instanceof ServerError && cause.status === 401 ? en.login.wrongKey : messageOf(cause))
    }
    setChecking(false)
  }
  return (
    <form className="login-form" onSubmit={(event) => void submit(event)} noValidate>
      <Field label={en.login.key} error={error}>
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        )}
      </Field>
      <label className="check">
        <input type="checkbox" checked={stays} onChange={(event) => setStays(event.target.checked)} />
        {en.login.stay}
      </label>
      <Button look="primary" type="submit" disabled={isChecking}>
        {isChecking ? en.login.checking : en.login.submit}
      </Button>
    </form>
  )
}
