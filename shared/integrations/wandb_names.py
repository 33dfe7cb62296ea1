"""The public names of wandb, of 0.31 and before: what a script that works there may ask for.

A name that is in none of these sets is a typing error there as well, and stays one here.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULE = _names(
    """
    Agent AlertLevel Api Artifact ArtifactTTL Audio Classes CommError Config Error EvalTable
    Graph Histogram History Html Image JoinedTable Molecule Object3D PublicApi Plotly Run
    Settings START_TIME Summary TENSORBOARD_PATCHED Table UsageError Video Visualize agent
    agents alert analytics annotations api apis attach automations beta bind boundingBox2D
    bounding_boxes_2d box3d catboost config config_util controller copy custom_chart data_types
    define_metric docker ensure_configured env errors fastai filesync finish git_repo gym
    hook_torch helper history image_mask init init_jupyter integration internal join jupyter
    keras launch lightgbm link_model log log_artifact log_code log_model login logging
    mark_preempting model new_report offline old patched pin_config_keys plot plot_table plots
    plugin profiler proto public pytorch_lightning ray reports require restore run run_dir
    sacred sagemaker_auth save save_code saved_model scikit sdk set_trace setup sklearn summary
    sweep sweeps sync tables teardown tensorboard tensorflow termerror termlog termsetup
    termwarn testing trigger triggers typing_extensions uninit unpatch unwatch use_artifact
    use_model util vendor viz visualize wandb wandb_agent wandb_controller wandb_lib wandb_run
    wandb_sdk wandb_torch watch watch_called xgboost
    """
)

RUN = _names(
    """
    alert config config_static define_metric dir disabled display entity finish finish_artifact
    get_project_url get_sweep_url get_url group history host id is_agent job_type join label
    link_artifact link_model log log_artifact log_code log_model mark_preempting mode name notes
    offline path pin_config_keys plot_table project project_name project_url restore resume
    resumed save settings socket start_time starting_step status step storage_id summary
    sweep_id sweep_url sync_dir tags to_html unwatch upsert_artifact url use_artifact use_model
    watch write_logs
    """
)

MEDIA = _names(
    """
    EXTS MAX_ARTIFACT_ROWS MAX_DIMENSION MAX_ITEMS MAX_LENGTH MAX_ROWS
    SUPPORTED_POINT_CLOUD_TYPES SUPPORTED_RDKIT_TYPES SUPPORTED_TYPES add_column
    add_computed_columns add_data add_edge add_node add_row all_boxes all_captions all_masks
    bind_to_run captions cast durations encode file_is_set format from_file from_json from_keras
    from_numpy from_point_cloud from_rdkit from_smiles get_column get_dataframe get_index
    get_media_subdir get_type guess_mode has_been_logged height image index_ref init_from_json
    inject_head is_bound iterrows make_plot_media path_is_reference pprint resolve_ref
    sample_rates seq_to_json set_fk set_pk sha256 size to_data_array to_json type_mapping width
    with_suffix
    """
)

ARTIFACT = _names(
    """
    add add_dir add_file add_reference aliases checkout collection commit_hash created_at delete
    description digest digest_algorithm distributed_id download entity file file_count files
    finalize get get_added_local_path_name get_entry get_path history_step id incremental
    is_draft is_link json_encode link linked_artifacts linked_at logged_by manifest metadata
    name new_draft new_file project qualified_name remove save size source_artifact
    source_collection source_entity source_name source_project source_qualified_name
    source_version state tags ttl type unlink updated_at url use_as used_by verify version wait
    """
)
