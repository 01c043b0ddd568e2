// Measures each build, compares it with the last baseline, and fails if the policy (rlcompare.toml) says so.
// Written by "rlcompare ci init jenkins", rlcompare @@version@@; docs/ci.md explains it. Adapt the lines marked ADAPT.
// Plugins: Pipeline, JUnit, and Copy Artifact, which fetches the baseline. RLCOMPARE_HISTORY in the environment, the URL
// of a PostgreSQL database (with postgres in the extras of RLCOMPARE) or a file on the machine, keeps a history of the
// runs on @@branch@@.
pipeline {
    agent any // ADAPT: agent { label 'npu' }, the machine to measure on
    options {
        disableConcurrentBuilds()
        copyArtifactPermission('*') // jobs of other branches fetch the baseline from that of @@branch@@
        timeout(time: 2, unit: 'HOURS')
    }
    parameters {
        string(name: 'REASON', defaultValue: '', description: 'Why the new numbers become the baseline, even if the gate fails (on @@branch@@ only)')
    }
    environment {
        RLCOMPARE = '@@package@@' // ADAPT: or a wheel, or a git URL
        BASELINE = '@@baseline@@'
        NEW = 'build/rlcompare/new' // where "Train and profile" leaves its runs
        PATH = "${env.WORKSPACE}/.rlcompare-venv/bin:${env.PATH}"
        // The job whose last green build has the baseline: that of @@branch@@ in a multibranch pipeline, else this one.
        MAIN_JOB = "${env.BRANCH_NAME ? env.JOB_NAME.substring(0, env.JOB_NAME.lastIndexOf('/') + 1) + '@@branch@@' : env.JOB_NAME}"
        ON_MAIN = "${(env.BRANCH_NAME ?: '@@branch@@') == '@@branch@@'}"
    }
    stages {
        stage('Install') {
            steps {
                sh '''
                    rm -rf rlcompare-out build/rlcompare build/last
                    python3 -m venv .rlcompare-venv
                    python -m pip install --quiet "$RLCOMPARE"
                '''
            }
        }
        // A committed baseline (.rlcompare/baselines) takes precedence, else that of the last green build. "optional"
        // means that there need not be one; if the job may not be read, this build fails.
        stage('Fetch the baseline') {
            steps {
                copyArtifacts(projectName: env.MAIN_JOB, selector: lastSuccessful(), filter: '.rlcompare/baselines/**',
                    target: 'build/last', optional: true)
                sh '''
                    if [ -n "$(git ls-files ".rlcompare/baselines/$BASELINE")" ]; then
                        from=repository
                    else
                        from=none
                        rm -rf .rlcompare/baselines
                        if [ -d "build/last/.rlcompare/baselines/$BASELINE" ]; then
                            mkdir -p .rlcompare
                            cp -R build/last/.rlcompare/baselines .rlcompare/
                            from=artifact
                        fi
                    fi
                    mkdir -p build
                    echo "$from" > build/baseline-from
                    echo "The baseline $BASELINE comes from: $from"
                    if [ "$from" = none ] && [ "$ON_MAIN" != true ]; then
                        echo "There is no baseline $BASELINE. The next build of @@branch@@ makes one." >&2
                        exit 4
                    elif [ "$from" = none ]; then
                        echo "There is no baseline $BASELINE: these runs are not judged, and become the baseline."
                    fi
                '''
            }
        }
        // ADAPT: what to measure. It leaves a run, or a folder of runs, in $NEW. For a verl job:
        //   rlcompare launch --repeat 5 -o "$NEW" -- python3 -m verl.trainer.main_ppo KEY=VALUE
        stage('Train and profile') {
            steps {
                sh '''
                    @@command@@
                '''
            }
        }
        // The gate's exit code decides; the history only informs. What passed on @@branch@@ is the next baseline; a
        // committed one is only replaced by a commit. One that cannot be read any more is recreated, if REASON is given.
        stage('Gate') {
            steps {
                sh '''
                    from=$(cat build/baseline-from)
                    code=0
                    if [ "$from" != none ]; then
                        rlcompare gate -d "$NEW" -bp "@$BASELINE" -o rlcompare-out --format pr,junit || code=$?
                    fi
                    if [ "$ON_MAIN" = true ] && [ -n "${RLCOMPARE_HISTORY:-}" ]; then
                        rlcompare history add "$NEW" --commit "$GIT_COMMIT" && rlcompare history changes || true
                    fi
                    if [ "$ON_MAIN" = true ] && [ "$from" != repository ]; then
                        if [ "$from" = none ]; then how=add; else how=promote; fi
                        if [ -n "$REASON" ]; then
                            code=0
                            if ! rlcompare baseline show "$BASELINE" >/dev/null 2>&1; then
                                rm -rf ".rlcompare/baselines/$BASELINE"
                                how=add
                            fi
                        fi
                        if [ "$code" -eq 0 ]; then
                            rlcompare baseline "$how" "$BASELINE" "$NEW" --reason "${REASON:-passed on @@branch@@ at $GIT_COMMIT}"
                        fi
                    fi
                    if [ "$code" -ne 0 ] && [ "$code" -ne 2 ]; then
                        if [ "$from" = repository ]; then
                            echo "To accept these numbers, commit a new baseline: rlcompare baseline promote $BASELINE RUN... --reason TEXT" >&2
                        else
                            echo "To accept these numbers, build @@branch@@ with the parameter REASON: they become the baseline." >&2
                        fi
                    fi
                    exit "$code"
                '''
            }
        }
    }
    post {
        always {
            junit testResults: 'rlcompare-out/junit.xml', allowEmptyResults: true
            archiveArtifacts artifacts: 'rlcompare-out/**, .rlcompare/baselines/**', allowEmptyArchive: true
        }
    }
}
